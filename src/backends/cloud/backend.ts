import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import type {
  Backend,
  Check,
  DiskUse,
  Enforcement,
  ListedSandbox,
  OpenListener,
  OpenSandbox,
  Places,
  SandboxSpec,
  Traits,
} from '../../core/sandbox.ts';
import { digestOf } from '../../lib/canonical-json.ts';
import { withFileLock } from '../../lib/file-lock.ts';
import { hermetic } from '../../lib/own-command.ts';
import { printable } from '../../lib/printable.ts';
import { liveAttachments } from '../../shell/pipes/attachments.ts';
import { hasLeftProcesses } from '../../shell/streams/left-processes.ts';
import { cannotRestrict } from '../cannot-restrict.ts';
import type { BackendContext } from '../context.ts';
import { diskUseOf } from '../disk-use.ts';
import { bareSandbox, listDirectories, makeSandboxDirectory, pathsIn, removeSandboxDirectory, removeTree } from '../sandbox-directory.ts';
import { unenforcedLimits } from '../unenforced-limits.ts';
import { workdirInside } from '../workdir.ts';
import { attachToCloud, stopAndRecord, stopUnused } from './attach.ts';
import { checkCloud, longestCheckMs } from './check.ts';
import { copyFiles } from './copy-files.ts';
import { labelNames, labelsOf } from './labels.ts';
import type { CloudListing, CloudProgress, CloudProvider, CloudWish } from './provider.ts';
import { type CloudRecord, giveUp, readGivenUp, readRecord, takeBack, writeRecord } from './record.ts';

export interface CloudOptions {
  kind: string;
  /** The provider, as people call it. */
  product: string;
  /** Of sandboxes that name none. */
  image: string;
  /** Other settings make other sandboxes. */
  settings: readonly string[];
  provider: CloudProvider;
  enforcement: Enforcement;
  /** As `Traits.installing`. */
  installing: string;
  honours: Pick<Traits['honours'], 'image' | 'network-none'>;
}

const notOurs = 'the network is that of the provider, where no rule of ours is asked';

/** Sandboxes that a provider runs on its own machines. */
export class CloudBackend implements Backend {
  readonly kind: string;
  readonly traits: Traits;
  readonly settings: readonly string[];
  readonly #context: BackendContext;
  readonly #options: CloudOptions;
  readonly #provider: CloudProvider;

  constructor(context: BackendContext, options: CloudOptions) {
    this.#context = context;
    this.#options = options;
    this.#provider = options.provider;
    this.kind = options.kind;
    this.settings = options.settings;
    const elsewhere = (what: string): string => `a sandbox of ${options.product} runs on another machine, ${what}`;
    this.traits = {
      isolation: 'machine',
      disposable: true,
      durable: true,
      seesDisk: false,
      hostAliases: [],
      insists: undefined,
      installing: options.installing,
      honours: {
        ...options.honours,
        mounts: elsewhere('which does not have the directories of this one'),
        'host-user': elsewhere('where the user of this one means nothing'),
        'network-open': true,
        ephemeral: true,
      },
    };
  }

  check(image = this.#options.image): Promise<Check> {
    const { product, enforcement } = this.#options;
    const labels = { ...labelsOf(this.#context.installation, 'check'), [labelNames.probe]: 'check' };
    return checkCloud({ provider: this.#provider, product, image, labels, enforcement });
  }

  async canRestrict(): Promise<true | string> {
    return notOurs;
  }

  async open(spec: SandboxSpec, listener: OpenListener, signal?: AbortSignal): Promise<OpenSandbox> {
    if (spec.network === 'restricted') throw cannotRestrict(this.kind, notOurs);
    const isNew = await makeSandboxDirectory(spec);
    try {
      return await withFileLock(join(spec.directory, 'lock'), signal, () => this.#openLocked(spec, listener, signal));
    } catch (error) {
      if (isNew) await removeTree(spec.directory);
      throw error;
    }
  }

  async #openLocked(spec: SandboxSpec, listener: OpenListener, signal: AbortSignal | undefined): Promise<OpenSandbox> {
    signal?.throwIfAborted();
    const how: CloudProgress = { progress: (text) => listener.progress(text), signal };
    const wish: CloudWish = { spec, labels: labelsOf(this.#context.installation, spec.name) };
    const hash = digestOf([spec.image, spec.limits, spec.network ?? 'open', spec.persistent, this.settings]);
    const record = await this.#lastRecord(spec, listener);
    if (record === undefined) {
      for (const sentence of unenforcedLimits(spec.limits, this.#options.enforcement, this.traits)) listener.notice(sentence);
      return await this.#launch(wish, hash, how);
    }
    const isRunning = (await this.#provider.state(record.reference)) === 'running';
    if (record.hash !== hash) return await this.#replace(wish, { record, hash, isRunning }, listener, how);
    if (isRunning) {
      try {
        return await this.#attach(record.reference, spec, false, signal);
      } catch (error) {
        const code = error instanceof HermeticError ? error.code : undefined;
        if (signal?.aborted || code !== 'sandbox/open-failed') throw error;
        if (liveAttachments(pathsIn(spec.directory).run).length > 0) throw error;
        const text = 'The sandbox of this session did not answer: it is started again. Its files stay.';
        listener.notice(text, text);
        await stopAndRecord(this.#provider, spec.directory, record.reference);
      }
    }
    const reference = await this.#resume(wish, how);
    return await this.#attach(reference, spec, true, signal);
  }

  /** The record of what is left of the session's sandbox; undefined when nothing is. */
  async #lastRecord(spec: SandboxSpec, listener: OpenListener): Promise<CloudRecord | undefined> {
    const { product } = this.#options;
    const record = readRecord(spec.directory);
    if (!record || (await this.#provider.state(record.reference)) !== 'gone') return record;
    await this.#requireOwner(record);
    const { checkpoint } = record;
    if (checkpoint && (await this.#provider.state(checkpoint.reference)) === 'stopped') {
      const text = `${product} has ended the sandbox of this session. Its files are as they were at ${checkpoint.savedAt}.`;
      listener.notice(text, text);
      const kept = { ...record, reference: checkpoint.reference, checkpoint: undefined };
      writeRecord(spec.directory, kept);
      return kept;
    }
    const text = `${product} has ended the sandbox of this session, and its files are gone.`;
    listener.notice(text, text);
    // The state of the session speaks of files that are gone.
    await rm(pathsIn(spec.directory).state, { force: true });
    return undefined;
  }

  /** Security: with other credentials every sandbox looks gone. */
  async #requireOwner({ owner }: CloudRecord): Promise<void> {
    const current = await this.#provider.owner();
    if (current === owner) return;
    throw new HermeticError(
      'backend/not-permitted',
      `The sandbox of this session belongs to ${owner}, and the credentials to ${current}.`,
      {
        hint: `Use the credentials with which it was made, or give its files up with \`${hermetic} sandbox destroy\`.`,
      },
    );
  }

  async #launch(wish: CloudWish, hash: string, how: CloudProgress): Promise<OpenSandbox> {
    const { directory } = wish.spec;
    const owner = await this.#provider.owner();
    const { labelled, confirm } = beginAttempt(wish);
    const reference = await this.#provider.create(labelled, how);
    try {
      writeRecord(directory, { reference, hash, owner });
      confirm();
      return await this.#attach(reference, wish.spec, true, how.signal);
    } catch (error) {
      await this.#provider.remove(reference);
      throw error;
    }
  }

  /** Brings back the recorded one. */
  async #resume(wish: CloudWish, how: CloudProgress): Promise<string> {
    const { directory } = wish.spec;
    const record = readRecord(directory);
    if (!record) throw new HermeticError('sandbox/lost', 'The sandbox of this session was removed meanwhile.');
    const { labelled, confirm } = beginAttempt(wish);
    const reference = await this.#provider.resume(record.reference, labelled, how);
    if (reference !== record.reference) {
      // Where a stopped one is a saved one, it stays until the next is saved.
      const checkpoint = this.#provider.checkpoints && { reference: record.reference, savedAt: new Date().toISOString() };
      writeRecord(directory, { ...record, reference, checkpoint });
    }
    confirm();
    return reference;
  }

  /** A sandbox with other settings takes the place of the recorded one, and its files. */
  async #replace(
    wish: CloudWish,
    { record, hash, isRunning }: { record: CloudRecord; hash: string; isRunning: boolean },
    listener: OpenListener,
    how: CloudProgress,
  ): Promise<OpenSandbox> {
    const { spec } = wish;
    if (isRunning && liveAttachments(pathsIn(spec.directory).run).length > 0) {
      throw new HermeticError(
        'sandbox/in-use',
        `The sandbox of ${spec.session} is in use and has other settings than the ones asked for.`,
        {
          hint: 'Wait until it is free, or use another session.',
        },
      );
    }
    const { home, workspace } = this.#provider;
    const text = `The settings of this sandbox have changed: it is replaced. Its files in ${home} and ${workspace} stay.`;
    listener.notice(text, text);
    const former = isRunning ? record.reference : await this.#resume(wish, how);
    const checkpoint = readRecord(spec.directory)?.checkpoint;
    const { owner } = record;
    const { labelled, confirm } = beginAttempt(wish);
    const reference = await this.#provider.create(labelled, how);
    try {
      how.progress('Copying the files of the session');
      await copyFiles(this.#provider.attach(former), this.#provider.attach(reference), [home, workspace], how.signal);
      writeRecord(spec.directory, { reference, hash, owner });
    } catch (error) {
      await this.#provider.remove(reference);
      throw error;
    }
    confirm();
    giveUp(spec.directory, former);
    // A sandbox that cannot be removed now is listed as left behind, and a checkpoint has an end of its own.
    await this.#remove({ reference: former, checkpoint }).catch(() => undefined);
    return await this.#attach(reference, spec, true, how.signal);
  }

  #attach(reference: string, spec: SandboxSpec, isNew: boolean, signal: AbortSignal | undefined): Promise<OpenSandbox> {
    const { product } = this.#options;
    const removeAll = (): Promise<void> => this.#destroy(spec);
    return attachToCloud({ provider: this.#provider, product, reference, spec, ...this.places(spec), isNew, removeAll }, signal);
  }

  async #destroy({ name, directory }: Pick<SandboxSpec, 'name' | 'directory'>): Promise<void> {
    await inLock(directory, async () => {
      const record = recordIn(directory);
      if (record && record !== 'damaged') await this.#remove(record);
      // Also those that no record tells of.
      const left = await this.#provider.list(labelsOf(this.#context.installation, name));
      for (const { reference } of left) await this.#provider.remove(reference);
    });
    await removeSandboxDirectory(directory);
  }

  async #remove({ reference, checkpoint }: Pick<CloudRecord, 'reference' | 'checkpoint'>): Promise<void> {
    await this.#provider.remove(reference);
    if (checkpoint) await this.#provider.checkpoints?.remove(checkpoint.reference);
  }

  places({ env, workdir }: SandboxSpec): Places {
    const { workspace } = this.#provider;
    const home = env.HOME ?? this.#provider.home;
    return { home, workdir: workdirInside(workdir, { home, workspace }) };
  }

  /** A provider does not see this disk. */
  async received(): Promise<undefined> {
    return undefined;
  }

  /** Of this machine only the records: the provider itself limits the rest. */
  diskUse({ directory }: SandboxSpec): Promise<DiskUse> {
    return diskUseOf([directory], []);
  }

  /** Does not ask a provider at which this installation never had a sandbox. */
  async list(): Promise<ListedSandbox[]> {
    const directory = join(this.#context.sandboxesDirectory, this.kind);
    if (!existsSync(directory)) return [];
    const { records: directories, bare } = await listDirectories(directory);
    const records = directories.map((listed) => ({ listed, record: recordIn(listed.directory) }));
    // Of a provider that does not answer, or has not been configured yet, no more is known than the records.
    const there = await this.#provider.list({ [labelNames.installation]: this.#context.installation }).catch(() => []);
    const kept = records.map(({ listed, record }): ListedSandbox => {
      const found = record === 'damaged' ? undefined : there.find(({ reference }) => reference === record?.reference);
      const mayStop = async (reference: string): Promise<boolean> => !(await hasLeftProcesses(this.#provider.attach(reference)));
      return {
        ...listed,
        state: found?.state ?? 'stopped',
        stop: (force) => stopUnused(this.#provider, listed.directory, force ? undefined : mayStop),
        destroy: () => this.#destroy(listed),
      };
    });
    // Security: what a damaged record speaks of is not known, so nothing of that name counts as left behind.
    const isKnown = ({ reference, labels }: CloudListing): boolean =>
      records.some(({ listed, record }) =>
        record === 'damaged' ? labels[labelNames.name] === listed.name : record?.reference === reference,
      );
    const orphans = there.filter((one) => !isKnown(one) && !isRunningProbe(one));
    // Directories go before the sandboxes that they may speak of.
    return [...kept, ...bare.map((one) => bareSandbox(one)), ...orphans.map((one) => this.#orphan(one, kept))];
  }

  /** The sandbox of a program that died before it wrote the record, or of a record that is not here. */
  #orphan({ reference, labels, state, createdAt }: CloudListing, kept: readonly ListedSandbox[]): ListedSandbox {
    // Security: the provider says it, and it becomes part of a path.
    const name = /^[a-z0-9-]{1,40}$/.exec(labels[labelNames.name] ?? '')?.[0];
    const own = kept.find((one) => one.name === name);
    const givenUp = own ? readGivenUp(own.directory) : [];
    const isGivenUp = givenUp.includes(reference) || givenUp.includes(labels[labelNames.attempt] ?? '');
    const hasFiles = labels[labelNames.probe] === undefined && !isGivenUp;
    const remove = async (): Promise<boolean> => {
      if (name === undefined) return await this.#removeUnrecorded(reference, '');
      const directory = join(this.#context.sandboxesDirectory, this.kind, name);
      return await inLock(directory, () => this.#removeUnrecorded(reference, directory));
    };
    return {
      name: name ?? printable(reference),
      session: '',
      state,
      image: undefined,
      createdAt,
      directory: '',
      hasFiles,
      stop: (force) => (hasFiles ? this.#stopUnrecorded(reference, state, force) : remove()),
      destroy: async () => void (await remove()),
    };
  }

  /** Resolves with false, and it runs on until its provider ends it, where its files would then be kept under a name that no record has. */
  async #stopUnrecorded(reference: string, state: ListedSandbox['state'], force: boolean): Promise<boolean> {
    if (state === 'stopped') return true;
    if (this.#provider.checkpoints || (!force && (await hasLeftProcesses(this.#provider.attach(reference))))) return false;
    await this.#provider.stop(reference);
    return true;
  }

  /** Resolves with false when it belongs to a session by now. */
  async #removeUnrecorded(reference: string, directory: string): Promise<boolean> {
    if (directory !== '' && existsSync(directory) && readRecord(directory)?.reference === reference) return false;
    await this.#provider.remove(reference);
    return true;
  }
}

/** Labels the sandbox that is about to be made. It counts as abandoned until `confirm` is called, once the record names it. */
function beginAttempt({ spec, labels }: CloudWish): { labelled: CloudWish; confirm(): void } {
  const mark = randomBytes(8).toString('hex');
  giveUp(spec.directory, mark);
  return { labelled: { spec, labels: { ...labels, [labelNames.attempt]: mark } }, confirm: () => takeBack(spec.directory, mark) };
}

/** Under the lock of a session, if it has a directory. */
async function inLock<Result>(directory: string, action: () => Promise<Result>): Promise<Result> {
  return existsSync(directory) ? await withFileLock(join(directory, 'lock'), undefined, action) : await action();
}

function recordIn(directory: string): CloudRecord | 'damaged' | undefined {
  try {
    return readRecord(directory);
  } catch {
    return 'damaged';
  }
}

/** A check that runs now removes its sandbox itself. */
function isRunningProbe({ labels, createdAt }: CloudListing): boolean {
  return labels[labelNames.probe] !== undefined && Date.now() - createdAt.getTime() < longestCheckMs;
}
