import { join } from 'node:path';
import { HermeticError } from '../core/errors.ts';
import type { GatewayStatus } from '../gateway-status.ts';
import { askInstance } from '../lib/instance.ts';

/** What a gateway says of itself to whoever asks from another process. */
export interface RunningGateway {
  state: 'starting' | 'running';
  url: string | null;
  model: string | null;
  turnsRunning: number | null;
  questionsOpen: number | null;
  channels: { kind: string; state: string; reason: string | null }[];
}

/** Of programs that talk to people in the name of one home, there is one at a time. */
export function gatewaySocket(home: string): string {
  return join(home, 'gateway.sock');
}

/** undefined when none runs for this home. */
export async function runningGateway(home: string): Promise<RunningGateway | undefined> {
  const said = (await askInstance(gatewaySocket(home))) as Partial<GatewayStatus> | undefined;
  if (said === undefined || said === null) return undefined;
  const { channels } = said;
  return {
    state: channels ? 'running' : 'starting',
    url: said.url ?? null,
    model: said.model ?? null,
    turnsRunning: said.turnsRunning ?? null,
    questionsOpen: said.approvals?.waiting ?? null,
    channels: (channels ?? []).map(({ kind, state, reason }) => ({ kind, state, reason: reason ?? null })),
  };
}

/** Says how to reach the one that runs. */
export async function alreadyRunning(home: string): Promise<HermeticError> {
  const gateway = await runningGateway(home);
  const isChat = gateway?.channels.some(({ kind }) => kind === 'terminal');
  const way = gateway?.url
    ? `Its page is ${gateway.url} (the link it printed at its start lets a browser in); hermetic status shows more.`
    : 'hermetic status shows it.';
  return new HermeticError(
    'gateway/running',
    isChat ? 'hermetic chat is open for this home already.' : 'A gateway is running for this home already.',
    { hint: isChat ? 'Leave it with Ctrl-D, or set HERMETIC_HOME to another home.' : way },
  );
}
