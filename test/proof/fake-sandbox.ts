import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Connections } from '../../src/core/egress.ts';
import type { ExecHandle, ExecRequest, Exit, OutputChunk, Sandbox } from '../../src/core/sandbox.ts';

const rest = { name: 'fake', cwd: '/workspace', definitions: {} };
const refuse = async (): Promise<never> => {
  throw new Error('this is not a sandbox');
};

/** What a sandbox prints, given what it was asked. Ends when this does. */
export type Script = (questions: AsyncIterable<string[]>) => AsyncIterable<string | Buffer>;

/** A sandbox that answers the probe's questions as the script likes. */
export function lyingSandbox(script: Script): Sandbox {
  return { ...rest, shell: refuse, readFile: refuse, writeFile: refuse, exec: async () => new LyingHandle(script) };
}

const argumentsOf: Record<string, number> = {
  devices: 0,
  'user-namespace': 0,
  end: 0,
  connect: 3,
  tunnel: 3,
  datagram: 3,
  signal: 2,
  write: 2,
};

class LyingHandle implements ExecHandle {
  readonly output: AsyncIterable<OutputChunk>;
  readonly exit: Promise<Exit>;
  readonly #words: string[] = [];
  #wake: () => void = () => undefined;
  #killed = Promise.withResolvers<undefined>();
  #dead = false;

  constructor(script: Script) {
    const { promise, resolve } = Promise.withResolvers<Exit>();
    this.exit = promise;
    this.output = this.#run(script, resolve);
  }

  async *#run(script: Script, resolve: (exit: Exit) => void): AsyncGenerator<OutputChunk> {
    const printed = script(this.#questions())[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([printed.next(), this.#killed.promise]);
      if (!next || next.done) break;
      yield { stream: 'stdout', data: Buffer.from(next.value) };
    }
    resolve({ kind: 'exited', code: 0 });
  }

  async *#questions(): AsyncGenerator<string[]> {
    while (!this.#dead) {
      const [verb = ''] = this.#words;
      const count = 2 + (argumentsOf[verb] ?? 1);
      if (verb !== '' && this.#words.length >= count) yield this.#words.splice(0, count);
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async write(data: Uint8Array | string): Promise<void> {
    this.#words.push(...String(data).split('\0').slice(0, -1));
    this.#wake();
  }

  async troubles(): Promise<[]> {
    return [];
  }

  async connections(): Promise<Connections> {
    return { blocked: [], allowed: [] };
  }

  async kill(): Promise<void> {
    this.#dead = true;
    this.#wake();
    this.#killed.resolve(undefined);
  }

  closeStdin(): void {
    this.#wake();
  }

  async resize(): Promise<void> {
    throw new Error('there is no terminal');
  }
}

/** No sandbox at all: commands run on this machine, after these words. What a product that only says it has a sandbox would do. */
export function pretendedSandbox(...words: string[]): Sandbox {
  const exec = async ({ command, args = [] }: ExecRequest): Promise<ExecHandle> => {
    const [program = '', ...rest] = [...words, 'bash', '--norc', '--noprofile', '-c', command, 'bash', ...args];
    const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'ignore'], cwd: '/' });
    child.stdin.on('error', () => undefined);
    const exit = once(child, 'exit').then(([code]): Exit => ({ kind: 'exited', code: (code as number | null) ?? 1 }));
    return {
      output: (async function* () {
        for await (const data of child.stdout) yield { stream: 'stdout', data: data as Buffer } as const;
      })(),
      exit,
      troubles: async () => [],
      connections: async () => ({ blocked: [], allowed: [] }),
      write: async (data) => void child.stdin.write(data),
      closeStdin: () => void child.stdin.end(),
      kill: async () => {
        child.kill('SIGKILL');
        await exit;
      },
      resize: refuse,
    };
  };
  return { ...rest, shell: refuse, readFile: refuse, writeFile: refuse, exec };
}
