import { readdirSync } from 'node:fs';
import type { Action, NamedProcesses } from '../core/approval.ts';
import { environmentOf, lineOf } from '../lib/process-facts.ts';
import { gatewayProcess } from './gateway-process.ts';
import { sessionVariable } from './session-process.ts';

/** Others that a text names are not looked at, and count as not started by the session. */
const maxNamed = 20;

interface Place {
  /** Of the session's sandbox. */
  sandbox: string;
  home: string;
}

/** For actions on the host: the processes of Hermetic, and those of the session among the ones that the actions name. */
export function namedProcesses(actions: readonly Action[], { sandbox, home }: Place): NamedProcesses {
  const text = actions.map(textOf).join('\n');
  const named = [...new Set(text.match(/\b\d{2,10}\b/g))].slice(0, maxNamed).map(Number);
  return { hermetic: ownProcesses(home), session: named.filter((pid) => isOfSandbox(pid, sandbox)) };
}

function textOf(action: Action): string {
  switch (action.kind) {
    case 'command':
      return action.command;
    case 'script':
      return action.code;
    case 'input':
      return action.text;
    default:
      return '';
  }
}

/**
 * This process and the gateway's, with their ancestors. Signals to init have a rule of their own. Security: includes
 * their threads, because a signal to a thread ends its process.
 */
function ownProcesses(home: string): number[] {
  const gateway = gatewayProcess(home);
  const own = [process.pid, ...(gateway === undefined ? [] : [gateway])];
  const above = own.flatMap((pid) => lineOf(pid) ?? []).map(({ pid }) => pid);
  return [...new Set([...own, ...above.filter((pid) => pid > 1)])].flatMap((pid) => [pid, ...threadsOf(pid)]);
}

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}

/** Security: the environment of a process that another one started cannot be changed by a command. */
function isOfSandbox(pid: number, sandbox: string): boolean {
  return environmentOf(pid).includes(`${sessionVariable}=${sandbox}`);
}
