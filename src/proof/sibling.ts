import { join } from 'node:path';
import { pathsIn } from '../backends/sandbox-directory.ts';
import type { ProofLine } from '../core/proof.ts';
import type { ExecHandle, Sandbox, SandboxSpec } from '../core/sandbox.ts';
import { within } from '../lib/deadline.ts';
import { errorText } from '../lib/error-text.ts';
import { askSandbox } from '../shell/ask-sandbox.ts';
import { noticed, token } from './bait.ts';
import { judge } from './files.ts';
import { type Ground, line, unanswered } from './ground.ts';
import { seenInside, viewFromHost } from './host-view.ts';
import { startScript } from './inside.ts';

/** Another sandbox of the same backend, open, whose files and ports must not be reachable. */
export interface Sibling {
  sandbox: Sandbox;
  spec: SandboxSpec;
}

const noSibling = 'There is no second sandbox to look for.';
const filesTried = 'Read a file of another sandbox.';
const portsTried = 'Connect to a port on which another sandbox listens.';
const loopback = '127.0.0.1';
const listenDeadlineMs = 5_000;

export async function checkSiblingFiles(ground: Ground, sibling: Sibling | undefined): Promise<ProofLine> {
  const check = 'sibling-files';
  if (!sibling) return line(check, filesTried, 'unknown', noSibling);
  const { sandbox, spec } = sibling;
  const [name, secret] = [`hermetic-proof-${token()}`, token()];
  const paths = [join(sandbox.cwd, name), join('/tmp', name)];
  try {
    for (const path of paths) await sandbox.writeFile(path, `${secret}\n`);
  } catch (error) {
    return line(check, filesTried, 'unknown', `No file could be put into the other sandbox: ${errorText(error)}`);
  }
  try {
    const onHost = join(pathsIn(spec.directory).workspace, name);
    const places = await seenInside(ground.host, spec.directory);
    const lines = await Promise.all(
      [...paths, onHost].map(async (path) =>
        judge(check, filesTried, { path: spec.directory, secret }, await ground.inside.ask('look', path), places),
      ),
    );
    const worst = ['broken', 'unknown', 'held'].map((verdict) => lines.find((each) => each.verdict === verdict)).find(Boolean);
    return worst ?? unanswered(check, filesTried);
  } finally {
    await askSandbox(sandbox, { command: 'rm -f -- "$@"', args: paths }).catch(() => undefined);
  }
}

export async function checkSiblingPorts(ground: Ground, sibling: Sibling | undefined): Promise<ProofLine> {
  const check = 'sibling-ports';
  if (!sibling) return line(check, portsTried, 'unknown', noSibling);
  const mark = `hermetic-proof-${token()}`;
  let handle: ExecHandle;
  try {
    handle = await startScript(sibling.sandbox, 'proof-listen', mark);
  } catch (error) {
    return line(check, portsTried, 'unknown', `The other sandbox could not listen: ${errorText(error)}`);
  }
  try {
    const listener = new SiblingListener(handle);
    const port = await within({ ms: listenDeadlineMs, ref: false }, listener.port, () => undefined);
    if (port === undefined)
      return line(check, portsTried, 'unknown', 'The other sandbox has no program that can listen (python3 or perl).');
    return await tryPort(ground, mark, listener, port);
  } finally {
    await handle.kill('KILL').catch(() => undefined);
  }
}

async function tryPort(ground: Ground, mark: string, listener: SiblingListener, port: number): Promise<ProofLine> {
  const check = 'sibling-ports';
  // Security: its address is taken from the kernel, never from the sandbox, which could name another one.
  const view = ground.host && (await viewFromHost(mark));
  const addresses = [loopback, ...(view?.probe.addresses ?? [])];
  const attempts = await Promise.all(
    addresses.map(async (address) => {
      const word = token();
      const answer = await ground.inside.ask('connect', address, String(port), word);
      const isConnected = answer?.outcome === 'connected';
      const arrived = isConnected ? await noticed(() => listener.heard(word)) : listener.heard(word);
      // At its own address only the sibling can have answered; at 127.0.0.1 it may be a service of this sandbox.
      return { address, outcome: answer?.outcome, isReached: arrived || (isConnected && address !== loopback) };
    }),
  );
  const reached = attempts.filter(({ isReached }) => isReached).map(({ address }) => address);
  if (reached.length > 0) return line(check, portsTried, 'broken', `It was reached at ${reached.join(' and ')}.`);
  if (!attempts.every(({ outcome }) => ['refused', 'unreachable', 'silent'].includes(outcome ?? ''))) return unanswered(check, portsTried);
  return line(check, portsTried, 'held', `No connection to ${addresses.join(' and ')}.`);
}

/** Security: the other sandbox is no more to be believed than this one; it can only say that it was reached. */
class SiblingListener {
  readonly port: Promise<number | undefined>;
  readonly #heard = new Set<string>();

  constructor(handle: ExecHandle) {
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    this.port = promise;
    void this.#read(handle, resolve);
  }

  heard(word: string): boolean {
    return this.#heard.has(word);
  }

  async #read(handle: ExecHandle, resolve: (port: number | undefined) => void): Promise<void> {
    let text = '';
    try {
      for await (const { stream, data } of handle.output) {
        if (stream === 'stderr' || text.length > 65_536) continue;
        text += data.toString('latin1');
        const port = Number(/^port (\d{1,5})$/m.exec(text)?.[1] ?? 0);
        if (port > 0 && port < 65_536) resolve(port);
        for (const [, word] of text.matchAll(/^heard ([0-9a-f]{32})$/gm)) this.#heard.add(word ?? '');
      }
    } finally {
      resolve(undefined);
    }
  }
}
