import type { Yolo } from '../../core/store.ts';
import { durationText } from '../../lib/duration.ts';
import { printable } from '../../lib/printable.ts';
import type { ToolsStatus } from '../deps.ts';

/** The activity of one session now. */
export interface SessionActivity extends ToolsStatus {
  yolo: readonly Yolo[];
  /** Since when a turn runs; undefined when none does. */
  turnSince: Date | undefined;
  /** Questions that wait for an answer. */
  pending: number;
}

const maxCommand = 120;

/** For people, the most important first: one line each. */
export function sessionLines({ yolo, turnSince, running, sandbox, pending }: SessionActivity, now: Date): string[] {
  const since = (start: Date): string => durationText(now.getTime() - start.getTime());
  const calls = running.map(({ tool, text, since: start, isBackground }) => {
    const what = isBackground ? 'In the background' : tool;
    return `${what}: \`${cut(printable(text).replaceAll('`', "'"))}\`, running for ${since(start)}`;
  });
  return [
    ...yolo.map(
      ({ by, since: start }) =>
        `YOLO: approvals are off in this session, for ${since(start)} (only for ${printable(by)}). Turn them on with /yolo off.`,
    ),
    turnSince ? `A turn has been running for ${since(turnSince)}.` : 'Nothing is running.',
    ...calls,
    `Questions pending in this session: ${pending}`,
    sandbox ? sandboxLine(sandbox) : 'No sandbox is open for this session; the first command opens one.',
  ];
}

function sandboxLine({ name, backend, image, closesInMs }: NonNullable<ToolsStatus['sandbox']>): string {
  return `Sandbox \`${name}\` on ${backend}${image === undefined ? '' : ` (${image})`}: ${lifetimeText(closesInMs)}`;
}

export function lifetimeText(closesInMs: number | undefined): string {
  if (closesInMs === undefined) return 'in use';
  return closesInMs > 0
    ? `${durationText(closesInMs)} left unless it is used or something still runs in it`
    : 'kept open by a process that a command left running';
}

function cut(text: string): string {
  return text.length > maxCommand ? `${text.slice(0, maxCommand - 1)}…` : text;
}
