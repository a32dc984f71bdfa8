import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { within } from '../../lib/deadline.ts';
import { guestBash } from '../../lib/guest-files.ts';
import { hermetic } from '../../lib/own-command.ts';
import { printable } from '../../lib/printable.ts';
import { asciiQuote, shellQuote } from '../../lib/shell-quote.ts';
import type { SshCommand, SshOptions } from '../../lib/ssh/connection.ts';
import { SshPool } from '../../lib/ssh/pool.ts';
import { parseTarget, type SshTarget } from '../../lib/ssh/target.ts';
import { guestScript } from '../../shell/guest-scripts.ts';
import type { BackendContext } from '../context.ts';
import { AfterMark } from './after-mark.ts';
import type { ConfiguredSsh } from './options.ts';

/** The result of one of our own scripts. */
export interface Answer {
  /** undefined when it is unknown. */
  code: number | undefined;
  stdout: string;
  /** Its beginning, safe to print. */
  stderr: string;
}

type Environment = Readonly<Record<string, string>>;

const answerDeadlineMs = 30_000;
const maxAnswerBytes = 1024 * 1024;
const maxErrorText = 1_000;

/** The remote machine: starts commands on it, by connections that all sessions share. */
export class Machine {
  readonly target: SshTarget;
  readonly #pool: SshPool;

  constructor(options: SshOptions) {
    this.target = options.target;
    this.#pool = new SshPool(options);
  }

  /** Keeps the connections until it is released. */
  hold(): () => void {
    return this.#pool.hold();
  }

  /** Keeps them for as long as the work takes. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    const release = this.hold();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /**
   * Starts an argument vector, with these variables added to the environment that a login of the user has. Security: values and arguments travel by
   * standard input, so that no list of processes shows them, and no login shell has to understand them. Nothing of our own environment is sent.
   */
  async start(command: readonly string[], env: Environment = {}): Promise<SshCommand> {
    const [boot, begin] = await Promise.all([guestScript('streamBoot'), guestBash('ssh-start')]);
    const mark = randomBytes(16).toString('hex');
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const words = [mark, String(variables.length), ...variables, ...command].map(asciiQuote).join(' ');
    const script = `${begin}begin ${words}\n`;
    const started = await this.#pool.exec(`exec bash --noprofile --norc -c ${shellQuote(boot.trim())} hermetic`);
    started.stdin.write(`${script.length}\n${script}`);
    return { ...started, stdout: AfterMark.of(started.stdout, mark), stderr: AfterMark.of(started.stderr, mark) };
  }

  /** Runs a script of `guest/`, to its end. Security: the answer is that of a machine that may be hostile; it is bounded in bytes and time. */
  async run(parts: readonly string[], args: readonly string[]): Promise<Answer> {
    const command = await this.start(['bash', '--noprofile', '--norc', '-c', await guestBash(...parts), 'hermetic', ...args]);
    command.stdin.end();
    return await within(answerDeadlineMs, collect(command), () => {
      command.destroy();
      throw new HermeticError('backend/not-running', `${this.target.host} did not answer in ${answerDeadlineMs / 1000} s.`);
    });
  }
}

/** Waits until it has ended. */
async function collect(command: SshCommand): Promise<Answer> {
  const outputs = [command.stdout, command.stderr].map(async (stream) => {
    const store = new ByteStore(maxAnswerBytes);
    for await (const chunk of stream) {
      if (!store.push(chunk as Buffer)) {
        command.destroy();
        throw new HermeticError('backend/unavailable', `It answered with more than ${maxAnswerBytes} bytes.`);
      }
    }
    return store.take().toString();
  });
  const [stdout = '', stderr = ''] = await Promise.all(outputs);
  return { code: await command.exitCode(), stdout, stderr: printable(stderr).slice(0, maxErrorText) };
}

/** Throws when a setting is missing. */
export function sshOptionsOf(options: ConfiguredSsh, { environment }: Pick<BackendContext, 'environment'>): SshOptions {
  const { ssh_host: host, ssh_user: user, ssh_port: port, ssh_key: key, ssh_passphrase_env: variable, ssh_jump: jump } = options;
  if (host === undefined || user === undefined) {
    const missing = host === undefined ? 'ssh_host' : 'ssh_user';
    throw new HermeticError('backend/unavailable', `The ssh backend is not configured: terminal.${missing} is not set.`, {
      hint: `${hermetic} config set terminal.${missing} …`,
    });
  }
  const home = environment.HOME ?? homedir();
  const fromHome = (path: string): string => (path.startsWith('~/') ? join(home, path.slice(2)) : path);
  return {
    target: { host, user, port },
    jumps: (jump?.split(',') ?? []).map((one) => parseTarget(one, user) as SshTarget),
    hostKeys: { path: fromHome(options.ssh_known_hosts), acceptNew: options.ssh_host_keys === 'accept-new' },
    keyPath: key === undefined ? undefined : fromHome(key),
    passphrase: variable === undefined ? undefined : passphraseIn(environment, variable),
    agentSocket: environment.SSH_AUTH_SOCK || undefined,
  };
}

function passphraseIn(environment: BackendContext['environment'], variable: string): string {
  const value = environment[variable];
  if (value) return value;
  throw new HermeticError('backend/unavailable', `The variable ${variable}, which terminal.ssh_passphrase_env names, is not set.`, {
    hint: `Put ${variable}=… into .env.`,
  });
}
