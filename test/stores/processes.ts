import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const stores = JSON.stringify(join(import.meta.dirname, '../../src/stores/index.ts'));

const prelude = `
  const openStore = async (path) => (await import(${stores})).openStore(path);
  const path = process.argv[1];
  const at = new Date(1_700_000_000_000);
  const later = new Date(1_700_000_060_000);
  const entry = (name) => ({
    backend: 'docker', name, session: ['cli', name], image: undefined, specHash: 'first', directory: '/' + name,
    persistent: true, createdAt: at, owner: 'one', leaseMs: 60_000,
  });
  const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
`;

export interface ChildOptions {
  /** Shell text that runs first, in a mount namespace of its own; `$1` is the path. */
  mounts?: string;
}

/** Another process that has `openStore`, `path`, `entry(name)`, `at`, `later` and `say(value)`. */
export function start(path: string, body: string, { mounts }: ChildOptions = {}): ChildProcess {
  const node = [process.execPath, '--input-type=module', '-e', prelude + body, path];
  const shell = ['unshare', '-m', 'sh', '-ec', `${mounts}; shift; exec "$@"`, 'sh', path, ...node];
  const [command = '', ...args] = mounts === undefined ? node : shell;
  return spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Resolves with what the process said. Rejects unless it ended well. */
export async function finish(child: ChildProcess): Promise<unknown[]> {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`the process ended with ${code ?? signal}`);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
