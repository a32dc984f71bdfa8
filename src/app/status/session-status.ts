import type { Usage } from '../../core/conversation.ts';
import { sessionPartsText } from '../../core/session.ts';
import { type WaitKind, waitText } from '../../core/waits.ts';
import { lifetimeText, type SessionActivity } from '../../gateway/commands/session-lines.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import { durationText } from '../../lib/duration.ts';
import { printable } from '../../lib/printable.ts';
import type { App } from '../app.ts';

/** A session in which something runs, a sandbox is open, a question waits or approvals are off. JSON, for other processes. */
export interface SessionStatus {
  title: string;
  /** People who are not asked there. */
  yolo: { by: string; since: string }[];
  turnSince: string | null;
  /** Since when the model has been asked and has said nothing. */
  modelAskedAt: string | null;
  /** `since`: when it began to run, or to wait. `waitsFor`: null while it runs. `place`: in the queue, if known. */
  running: {
    tool: string;
    command: string;
    since: string;
    background: boolean;
    waitsFor: { kind: WaitKind; place: number | null } | null;
  }[];
  sandbox: { name: string; backend: string; image: string | null; closesInSeconds: number | null } | null;
  pending: number;
  usage: { inputTokens: number; outputTokens: number; cost: number | null };
}

const idle = { sandbox: undefined, running: [], turn: undefined };

/** Those with approvals switched off come first. Without a gateway, what the state database knows of sessions. */
export async function sessionStatuses(app: App, gateway: Pick<Gateway, 'active'> | undefined): Promise<SessionStatus[]> {
  const { modes, conversations } = await app.store();
  const [yolos, questions] = await Promise.all([modes.list(), (await app.approvals.questions()).open()]);
  const active = new Map((gateway?.active ?? []).map((one) => [one.id.text, one]));
  const yoloOf = Map.groupBy(yolos, ({ parts }) => JSON.stringify(parts));
  const pending = Map.groupBy(questions, ({ parts }) => JSON.stringify(parts));
  const names = new Set([...yoloOf.keys(), ...active.keys(), ...pending.keys()]);
  const found = await Promise.all(
    [...names].map(async (name) => {
      const parts = JSON.parse(name) as string[];
      const entry = await conversations.find(parts);
      const { title = sessionPartsText(parts), activity } = active.get(name) ?? {};
      const now = { ...idle, ...activity, yolo: yoloOf.get(name) ?? [], pending: pending.get(name)?.length ?? 0 };
      return asJson(entry?.title ?? title, now, entry?.usage);
    }),
  );
  return found;
}

function asJson(title: string, { yolo, turn, running, sandbox, pending }: SessionActivity, usage: Usage | undefined): SessionStatus {
  return {
    title: printable(title),
    yolo: yolo.map(({ by, since }) => ({ by: printable(by), since: since.toISOString() })),
    turnSince: turn?.since.toISOString() ?? null,
    modelAskedAt: turn?.modelAskedAt?.toISOString() ?? null,
    running: running.map(({ tool, text, since, isBackground, waitsFor }) => ({
      tool,
      command: printable(text),
      since: since.toISOString(),
      background: isBackground,
      waitsFor: waitsFor ? { kind: waitsFor.kind, place: waitsFor.place ?? null } : null,
    })),
    sandbox: sandbox
      ? {
          name: sandbox.name,
          backend: sandbox.backend,
          image: sandbox.image ?? null,
          closesInSeconds: sandbox.closesInMs === undefined ? null : Math.round(sandbox.closesInMs / 1000),
        }
      : null,
    pending,
    usage: { inputTokens: usage?.inputTokens ?? 0, outputTokens: usage?.outputTokens ?? 0, cost: usage?.cost ?? null },
  };
}

const maxCommand = 80;

/** The activity of a session, in one line. */
export function sessionText({ turnSince, modelAskedAt, running, sandbox, pending, usage }: SessionStatus, now: Date): string {
  const since = (start: string): string => durationText(now.getTime() - Date.parse(start));
  const calls = running.map(({ tool, command, since: start, background, waitsFor }) => {
    const text = command.length > maxCommand ? `${command.slice(0, maxCommand - 1)}…` : command;
    const doing = waitsFor ? waitText({ ...waitsFor, place: waitsFor.place ?? undefined }) : 'running';
    return `${background ? 'background' : tool} ${text}, ${doing} for ${since(start)}`;
  });
  const asked = modelAskedAt === null ? '' : `, ${waitText({ kind: 'model' })} for ${since(modelAskedAt)}`;
  const turn = turnSince === null || calls.length > 0 ? [] : [`turn running for ${since(turnSince)}${asked}`];
  const left = sandbox && lifetimeText(sandbox.closesInSeconds === null ? undefined : sandbox.closesInSeconds * 1000);
  const price = usage.cost === null ? '' : `, about $${usage.cost.toFixed(4)}`;
  return [
    ...calls,
    ...turn,
    ...(sandbox ? [`sandbox on ${sandbox.backend}: ${left}`] : []),
    ...(pending > 0 ? [`${pending} pending`] : []),
    ...(usage.inputTokens + usage.outputTokens > 0 ? [`${usage.inputTokens} tokens in, ${usage.outputTokens} out${price}`] : []),
  ].join('; ');
}

/** People who are asked nothing before it runs, and where: one line each. */
export function yoloTexts(sessions: readonly SessionStatus[], now: Date): string[] {
  return sessions.flatMap(({ title, yolo }) =>
    yolo.map(({ by, since }) => `${title}: off for ${durationText(now.getTime() - Date.parse(since))} (only for ${by})`),
  );
}
