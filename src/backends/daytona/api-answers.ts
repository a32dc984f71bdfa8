import type { Sandbox, SandboxListItem, SshAccessDto } from '@daytona/api-client';
import { printable } from '../../lib/printable.ts';
import { hostPattern, type SshTarget, userPattern } from '../../lib/ssh/target.ts';
import { type Phase, phaseOf } from './sandbox-states.ts';

/** A sandbox as Daytona describes it. Security: a server may answer anything, so only these parts are taken, and verified. */
export interface Found {
  id: string;
  labels: Readonly<Record<string, string>>;
  state: string;
  phase: Phase;
  /** Safe to print. */
  trouble: string;
  isRecoverable: boolean;
  createdAt: Date;
}

const idPattern = /^[\w.-]{1,128}$/;
const tokenPattern = /^[\w-]{8,256}$/;
const maxTrouble = 500;

/** undefined when it is none. */
export function foundIn(answer: unknown): Found | undefined {
  if (!isRecord<Sandbox & SandboxListItem>(answer)) return undefined;
  const { id, labels, state, desiredState, errorReason, recoverable, createdAt } = answer;
  if (typeof id !== 'string' || !idPattern.test(id) || typeof state !== 'string') return undefined;
  const created = new Date(typeof createdAt === 'string' ? createdAt : Number.NaN);
  return {
    id,
    labels: textsIn(labels),
    state: printable(state).slice(0, 50),
    phase: phaseOf(state, typeof desiredState === 'string' ? desiredState : undefined),
    trouble: typeof errorReason === 'string' ? printable(errorReason).slice(0, maxTrouble) : '',
    isRecoverable: recoverable === true,
    createdAt: Number.isNaN(created.getTime()) ? new Date() : created,
  };
}

function textsIn(value: unknown): Record<string, string> {
  if (!isRecord<Record<string, unknown>>(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

/** undefined when it is none. */
export function pageIn(answer: unknown): { items: unknown[]; next: string | undefined } | undefined {
  if (!isRecord<{ items: unknown; nextCursor: unknown }>(answer) || !Array.isArray(answer.items)) return undefined;
  return { items: answer.items, next: typeof answer.nextCursor === 'string' && answer.nextCursor !== '' ? answer.nextCursor : undefined };
}

/** The name of an API key and its permissions; undefined when it is none. */
export function keyIn(answer: unknown): { name: string; userId: string; permissions: readonly unknown[] } | undefined {
  if (!isRecord<{ name: unknown; userId: unknown; permissions: unknown }>(answer)) return undefined;
  const { name, userId, permissions } = answer;
  if (typeof name !== 'string' || !Array.isArray(permissions)) return undefined;
  return { name: printable(name).slice(0, 100), userId: printable(String(userId)).slice(0, 100), permissions };
}

/**
 * The way in by ssh, which the API names as a command: `ssh [-p PORT] TOKEN@HOST`. An older API gives the token alone. `gateway` is used instead of
 * what it names. undefined when there is none.
 */
export function sshAccessIn(answer: unknown, gateway: Pick<SshTarget, 'host' | 'port'> | undefined): SshTarget | undefined {
  if (!isRecord<SshAccessDto>(answer)) return undefined;
  const { token, sshCommand } = answer;
  if (typeof token !== 'string' || !tokenPattern.test(token) || !userPattern.test(token)) return undefined;
  const named = gateway ?? (typeof sshCommand === 'string' ? gatewayIn(sshCommand, token) : undefined);
  return named && { ...named, user: token, isToken: true };
}

function gatewayIn(command: string, token: string): Pick<SshTarget, 'host' | 'port'> | undefined {
  const [, before, user, host = '', behind] = /^ssh(?: -p (\d{1,5}))? ([^\s@]+)@([^\s@]+?)(?: -p (\d{1,5}))?$/.exec(command.trim()) ?? [];
  const port = Number(before ?? behind ?? 22);
  return user === token && hostPattern.test(host) && port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

/** Its properties may be missing, or anything. */
function isRecord<Shape>(value: unknown): value is { [Name in keyof Shape]?: unknown } {
  return typeof value === 'object' && value !== null;
}
