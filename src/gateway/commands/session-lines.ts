import type { Yolo } from '../../core/store.ts';
import { waitText } from '../../core/waits.ts';
import { durationText } from '../../lib/duration.ts';
import { printable } from '../../lib/printable.ts';
import type { ToolsStatus } from '../deps.ts';
import type { RunningTurn } from '../turns/running-turn.ts';

/** A turn that runs. `modelAskedAt`: undefined unless the model has been asked and has said nothing yet. */
export type TurnActivity = Pick<RunningTurn, 'since' | 'modelAskedAt'>;

/** The activity of one session now. */
export interface SessionActivity extends ToolsStatus {
  yolo: readonly Yolo[];
  turn: TurnActivity | undefined;
  /** Questions that wait for an answer. */
  pending: number;
}

const maxCommand = 120;

/** For people, the most important first: one line each. */
export function sessionLines({ yolo, turn, running, sandbox, pending }: SessionActivity, now: Date): string[] {
  const since = (start: Date): string => durationText(now.getTime() - start.getTime());
  const calls = running.map(({ tool, text, since: start, isBackground, waitsFor }) => {
    const what = isBackground ? 'In the background' : tool;
    const doing = waitsFor ? waitText(waitsFor) : 'running';
    return `${what}: \`${cut(printable(text).replaceAll('`', "'"))}\`, ${doing} for ${since(start)}`;
  });
  const asked = turn?.modelAskedAt && `, ${waitText({ kind: 'model' })} for ${since(turn.modelAskedAt)}`;
  return [
    ...yolo.map(
      ({ by, since: start }) =>
        `YOLO: approvals are off in this session, for ${since(start)} (only for ${printable(by)}). Turn them on with /yolo off.`,
    ),
    turn ? `A turn has been running for ${since(turn.since)}${asked ?? ''}.` : 'Nothing is running.',
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
