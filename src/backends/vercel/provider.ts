import { randomBytes } from 'node:crypto';
import type { Sandbox } from '@vercel/sandbox';
import { HermeticError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../core/sandbox.ts';
import { pause } from '../../lib/pause.ts';
import { printable } from '../../lib/printable.ts';
import type { Attach } from '../../shell/streams/attached-command.ts';
import { loadPackage } from '../cloud/load-package.ts';
import type { CloudListing, CloudProgress, CloudProvider, CloudState, CloudWish } from '../cloud/provider.ts';
import type { BackendContext } from '../context.ts';
import { refusedStatus } from '../refusal.ts';
import { lateError, senselessError } from './api-errors.ts';
import { attachTo } from './attach.ts';
import type { Beat } from './command-input.ts';
import { VercelConnection } from './connection.ts';
import { vercelCredentials } from './credentials.ts';
import { limited, Machine } from './machine.ts';
import type { VercelOptions } from './options.ts';
import { processorsFor } from './size.ts';

const callMs = 30_000;
/** A new image is fetched first. */
const startMs = 180_000;
/** The disk of a machine is saved. */
const stopMs = 300_000;
const everyMs = 500;
const maxLooks = 6;
const maxQuoted = 500;
/** Security: longer lists are not believed. */
const maxListed = 10_000;
const idleMs = { min: 60_000, max: 30 * 60_000 };
const defaultBeat: Beat = { everyMs: 7_000, silenceSeconds: 20 };

/** The sandboxes of a project at Vercel. Their references are their names. */
export class VercelProvider implements CloudProvider {
  /** Below the one directory that belongs to the user of the machine in every image. */
  readonly home = '/vercel/sandbox/home';
  readonly workspace = '/vercel/sandbox/workspace';
  /** The input of a command does not end when its program dies. */
  readonly pulse = { everyMs: 5_000, silenceSeconds: 20 };
  readonly renewal = { everyMs: 20_000, renew: (name: string): Promise<void> => this.#renew(name) };
  readonly #connection: VercelConnection;
  readonly #credentials: () => ReturnType<typeof vercelCredentials>;
  readonly #options: VercelOptions;
  readonly #beat: Beat;
  /** The machines that commands were started on. */
  readonly #attached = new Map<string, Promise<Attach>>();

  /** Does no input or output. */
  constructor(environment: BackendContext['environment'], options: VercelOptions, beat: Beat = defaultBeat) {
    this.#options = options;
    this.#beat = beat;
    this.#credentials = () => vercelCredentials(environment);
    this.#connection = new VercelConnection(this.#credentials, options.vercel_api_root);
  }

  async account(): Promise<string> {
    const { teamId, projectId } = this.#credentials();
    const { Sandbox } = await this.#package();
    await limited('list sandboxes', callMs, (signal) => Sandbox.list({ ...this.#connection.parameters(), limit: 1, signal }));
    return `${ownerText(teamId, projectId)} at Vercel`;
  }

  async owner(): Promise<string> {
    const { teamId, projectId } = this.#credentials();
    return ownerText(teamId, projectId);
  }

  async create({ spec, labels }: CloudWish, { progress, signal }: CloudProgress): Promise<string> {
    const vcpus = processorsFor(spec.limits);
    const { Sandbox } = await this.#package();
    const name = `hermetic-${spec.name}-${randomBytes(4).toString('hex')}`;
    progress('Vercel starts a machine');
    try {
      const make = (ending: AbortSignal): Promise<Sandbox> =>
        Sandbox.create({
          ...this.#connection.parameters(),
          name,
          image: spec.image ?? this.#options.vercel_image,
          region: this.#options.vercel_region,
          timeout: timeoutOf(spec),
          ...(vcpus !== undefined && { resources: { vcpus } }),
          networkPolicy: spec.network === 'none' ? 'deny-all' : 'allow-all',
          tags: { ...labels },
          persistent: spec.persistent,
          // The last snapshot is the files of the session: it stays until they are removed, and no other is paid for.
          snapshotExpiration: 0,
          keepLastSnapshots: { count: 1, expiration: 0, deleteEvicted: true },
          signal: ending,
        });
      signal?.throwIfAborted();
      // Not given up halfway: what is being made cannot be removed yet.
      const made = await limited('start a machine', startMs, make);
      signal?.throwIfAborted();
      const machine = await this.#running(made, spec, signal);
      await this.#makePlaces(machine);
      this.#remember(name, machine);
    } catch (error) {
      // One that cannot be removed now ends by its own clock, and is listed as left behind.
      await this.#discard(name, refusedStatus(error) === undefined && !signal?.aborted).catch(() => undefined);
      throw error;
    }
    return name;
  }

  /** One of which it is unknown whether it was made may be there a moment later. */
  async #discard(name: string, mayCome: boolean): Promise<void> {
    for (let look = 1; mayCome && look < maxLooks && (await this.state(name)) === 'gone'; look++) await pause(everyMs, undefined);
    await this.remove(name);
  }

  async state(name: string): Promise<CloudState> {
    const sandbox = await this.#find(name);
    return sandbox ? stateOf(sandbox) : 'gone';
  }

  async resume(name: string, { spec }: CloudWish, { progress, signal }: CloudProgress): Promise<string> {
    progress('Vercel starts the machine again');
    const { Sandbox } = await this.#package();
    await this.#untilStopped(name, signal);
    const start = (ending: AbortSignal): Promise<Sandbox> =>
      Sandbox.get({ ...this.#connection.parameters(), name, resume: true, signal: ending });
    const machine = await this.#running(await limited('start a machine', startMs, start, signal), spec, signal);
    this.#remember(name, machine);
    return name;
  }

  attach(name: string): Attach {
    return async (command) => {
      const attached = this.#attached.get(name) ?? this.#lookUp(name);
      this.#attached.set(name, attached);
      try {
        return await (await attached)(command);
      } catch (error) {
        // The next one asks again: the machine may be another one by then.
        if (this.#attached.get(name) === attached) this.#attached.delete(name);
        throw error;
      }
    };
  }

  async #lookUp(name: string): Promise<Attach> {
    const sandbox = await this.#find(name);
    if (sandbox?.status !== 'running') throw new HermeticError('sandbox/lost', 'The machine at Vercel does not run any more.');
    return attachTo(new Machine(this.#connection, sandbox.currentSession()), this.#beat);
  }

  #remember(name: string, machine: Machine): void {
    this.#attached.set(name, Promise.resolve(attachTo(machine, this.#beat)));
  }

  async stop(name: string): Promise<string> {
    this.#attached.delete(name);
    const sandbox = await this.#find(name);
    if (sandbox && stateOf(sandbox) === 'running') {
      const stopping = limited('stop a machine', stopMs, (signal) => sandbox.currentSession().stop({ signal }));
      // Stopped by its clock or by another program meanwhile.
      const done = await stopping.catch((error: unknown) => {
        if (refusedStatus(error) === 410 || refusedStatus(error) === 422) return undefined;
        throw error;
      });
      if (sandbox.persistent && done?.snapshot?.status === 'failed') {
        throw new HermeticError('sandbox/lost', 'Vercel stopped the machine and could not save its files.');
      }
    }
    await this.#untilStopped(name, undefined);
    return name;
  }

  async remove(name: string): Promise<void> {
    this.#attached.delete(name);
    const sandbox = await this.#find(name);
    const removing = limited('remove a sandbox', stopMs, async (signal) => await sandbox?.delete({ deleteOrphanSnapshots: true, signal }));
    await removing.catch((error: unknown) => {
      if (refusedStatus(error) !== 404) throw error;
    });
  }

  async list(labels: Readonly<Record<string, string>>): Promise<CloudListing[]> {
    const { Sandbox } = await this.#package();
    const found: CloudListing[] = [];
    // Vercel looks for one of them only. The type wants its name to be written down.
    const tags = Object.fromEntries(Object.entries(labels).slice(-1)) as { name: string };
    await limited('list sandboxes', callMs, async (signal) => {
      let count = 0;
      for await (const one of await Sandbox.list({ ...this.#connection.parameters(), tags, signal })) {
        count += 1;
        // Security: half a list would make what is missing from it look gone.
        if (count > maxListed) throw senselessError(new Error('a list without end'));
        const state = stateOf(one);
        if (state === 'gone' || !Object.entries(labels).every(([key, value]) => one.tags?.[key] === value)) continue;
        found.push({ reference: one.name, labels: one.tags ?? {}, state, createdAt: new Date(one.createdAt) });
      }
    });
    return found;
  }

  /** Moves the end of a machine away again, when a quarter of its time is over. */
  async #renew(name: string): Promise<void> {
    const sandbox = await this.#find(name);
    if (sandbox?.status !== 'running') throw new HermeticError('sandbox/lost', 'The machine at Vercel does not run any more.');
    const { timeout = idleMs.min, expiresAt } = sandbox;
    const missingMs = timeout - ((expiresAt?.getTime() ?? 0) - this.#connection.now());
    if (missingMs < timeout / 4) return;
    await limited('let a machine run on', callMs, (signal) => sandbox.currentSession().extendTimeout(Math.ceil(missingMs), { signal }));
  }

  /** Never starts a machine. undefined when nothing is left of it. */
  async #find(name: string): Promise<Sandbox | undefined> {
    const { Sandbox } = await this.#package();
    const find = (signal: AbortSignal): Promise<Sandbox> => Sandbox.get({ ...this.#connection.parameters(), name, resume: false, signal });
    return await limited('tell of a sandbox', callMs, find).catch((error: unknown) => {
      const status = refusedStatus(error);
      if (status === 404 || status === 410) return undefined;
      throw error;
    });
  }

  /** Security: a machine whose network is another than the one asked for is no place to run anything. */
  async #running(begun: Sandbox, spec: SandboxSpec, signal: AbortSignal | undefined): Promise<Machine> {
    const deadline = Date.now() + startMs;
    let sandbox: Sandbox | undefined = begun;
    while (sandbox?.status === 'pending') {
      if (Date.now() > deadline) throw lateError('start a machine', startMs);
      await pause(everyMs, signal);
      signal?.throwIfAborted();
      sandbox = await this.#find(begun.name);
    }
    if (sandbox?.status !== 'running') {
      throw new HermeticError('sandbox/open-failed', `The machine at Vercel did not start: it is ${sandbox?.status ?? 'gone'}.`);
    }
    const session = sandbox.currentSession();
    const policy = session.networkPolicy ?? sandbox.networkPolicy;
    if (spec.network === 'none' && policy !== 'deny-all') {
      throw new HermeticError('backend/cannot-honour', 'Vercel did not confirm that the machine has no network.');
    }
    return new Machine(this.#connection, session);
  }

  /** While it stops, its files are being saved, and it can neither be used nor started. */
  async #untilStopped(name: string, signal: AbortSignal | undefined): Promise<void> {
    const deadline = Date.now() + stopMs;
    for (;;) {
      const status = (await this.#find(name))?.status;
      if (status !== 'stopping' && status !== 'snapshotting') return;
      if (Date.now() > deadline) throw lateError('stop a machine', stopMs);
      await pause(everyMs, signal);
      signal?.throwIfAborted();
    }
  }

  async #makePlaces(machine: Machine): Promise<void> {
    let [code, said]: [number | undefined, string] = [undefined, ''];
    for await (const line of machine.run({ text: 'mkdir -p -- "$@"', args: [this.home, this.workspace] })) {
      if ('command' in line) code = line.command.exitCode ?? undefined;
      else said = (said + line.data).slice(0, maxQuoted);
    }
    if (code === 0) return;
    const why = printable(said) || `it ended with code ${code ?? 'unknown'}`;
    throw new HermeticError('sandbox/open-failed', `The first command in the machine failed: ${why}`, {
      hint: 'The image needs bash 5 or newer and coreutils: change terminal.vercel_image.',
    });
  }

  #package() {
    return loadPackage('Vercel', { name: '@vercel/sandbox', version: '3.5.0' }, () => import('@vercel/sandbox'));
  }
}

/** As long as no program has it open. Of a longer idle time not every plan of Vercel lets a machine run. */
function timeoutOf({ idleSeconds }: SandboxSpec): number {
  return Math.round(Math.min(Math.max(idleSeconds * 1000, idleMs.min), idleMs.max));
}

function stateOf({
  status,
  persistent,
  currentSnapshotId,
}: Pick<Sandbox, 'status' | 'persistent'> & { currentSnapshotId?: string | undefined }): CloudState {
  switch (status) {
    case 'pending':
    case 'running':
      return 'running';
    case 'stopping':
    case 'snapshotting':
    case 'stopped':
      return persistent ? 'stopped' : 'gone';
    default:
      return persistent && currentSnapshotId !== undefined ? 'stopped' : 'gone';
  }
}

function ownerText(teamId: string, projectId: string): string {
  return `project ${projectId} of team ${teamId}`;
}
