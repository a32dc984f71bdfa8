import { setTimeout as sleep } from 'node:timers/promises';
import { HermeticError } from '../../core/errors.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { asciiQuote, shellQuote } from '../../lib/shell-quote.ts';
import type { SshCommand, SshOptions } from '../../lib/ssh/connection.ts';
import { SshPool } from '../../lib/ssh/pool.ts';
import { SshError } from '../../lib/ssh/ssh-error.ts';
import { guestScript } from '../../shell/guest-scripts.ts';
import type { Attach } from '../../shell/streams/attached-command.ts';
import { foldedCommand, unfold } from '../../shell/streams/folded-command.ts';

/** Another program that enters the same sandbox makes our token void before we have used it. */
const maxTokens = 4;
/** Longer than a pool waits before it asks a host again. */
const nextTokenMs = 1_000;
/** So long a command that was let go of may take to end, until it ends with the connection. */
const partingMs = 10_000;

/**
 * Starts commands in one sandbox, by its ssh gateway. That one passes on neither errors nor, in older versions, the end of input, and makes 127 of
 * every exit code: so the streams of commands are folded, and nothing is ever written to the errors of a channel, which would hold it up for good.
 * `options` gives those of a new connection, with a token of its own.
 */
export function attachThroughGateway(options: () => Promise<SshOptions>): Attach {
  const pool = new SshPool(options);
  return async (command) => {
    const release = pool.hold();
    try {
      const [boot, words] = await Promise.all([guestScript('streamBoot'), foldedCommand(command)]);
      const started = await enter(pool, `exec bash --noprofile --norc -c ${shellQuote(boot.trim())} hermetic 2>/dev/null`);
      void started.closed.then(release);
      // Security: by standard input, because the daemon of the sandbox may write down the command of a channel, and variables may be secrets.
      const script = `exec ${words.map(asciiQuote).join(' ')}`;
      started.stdin.write(`${script.length}\n${script}`);
      const destroy = (): void => {
        started.destroy();
        void settlesWithin({ ms: partingMs, ref: false }, started.closed).then(release);
      };
      return unfold({ ...started, destroy });
    } catch (error) {
      release();
      throw explained(error);
    }
  };
}

async function enter(pool: SshPool, command: string): Promise<SshCommand> {
  for (let tokens = 1; ; tokens++) {
    try {
      return await pool.exec(command);
    } catch (error) {
      // Security: only then nothing has been started.
      const isRefused = error instanceof SshError && error.kind === 'token';
      if (!isRefused || tokens >= maxTokens) throw error;
      await sleep(nextTokenMs);
    }
  }
}

function explained(error: unknown): unknown {
  if (!(error instanceof SshError)) return error;
  const code = error.isPassing || error.kind === 'full' ? 'backend/not-running' : 'backend/unavailable';
  return new HermeticError(code, `The SSH gateway of Daytona cannot be used. ${error.message}`, { hint: error.hint, cause: error });
}
