import type { HealthView } from '../../http/parts.ts';
import { within } from '../../lib/deadline.ts';
import type { GatewayProgram } from '../gateway.ts';
import { sandboxObstacle } from './sandbox-status.ts';

/** A write that is older says nothing about the disk of now. */
const maxWriteAgeMs = 5000;
const answerMs = 2000;

/** Whether the program works at all, or should be started anew. An answer shows that its event loop turns. */
export async function liveness({ app }: GatewayProgram): Promise<HealthView> {
  const failure = async (): Promise<string | undefined> => {
    try {
      const found = await (await app.store()).writeFailure(maxWriteAgeMs);
      return found && `The state database takes no writes. ${found.message}`;
    } catch (error) {
      return `The state database cannot be opened. ${(error as Error).message}`;
    }
  };
  const reason = await within(answerMs, failure(), () => `The state database has not taken a write for ${answerMs / 1000} s.`);
  return { ok: reason === undefined, reasons: reason === undefined ? [] : [reason], down: [] };
}

/** Whether messages are answered and commands run. */
export async function readiness(program: GatewayProgram): Promise<HealthView> {
  const { app, channels, isRecovered } = program;
  const live = await liveness(program);
  const obstacle = sandboxObstacle((await app.sandboxStatus.known()).status);
  const platforms = [...channels.values()].filter(({ traits }) => !traits.isOwn);
  const down = platforms.flatMap(({ kind, state }) =>
    state.kind === 'up' ? [] : [`${kind} is ${state.kind}${'reason' in state && state.reason ? `: ${state.reason}` : ''}`],
  );
  const reasons = [
    ...live.reasons,
    ...(isRecovered ? [] : ['The gateway is starting.']),
    ...(obstacle === undefined ? [] : [obstacle]),
    ...(platforms.length > 0 && down.length === platforms.length ? ['No chat platform is connected.'] : []),
  ];
  return { ok: reasons.length === 0, reasons, down };
}
