import { randomUUID } from 'node:crypto';
import type { Sandbox } from 'modal';
import { HermeticError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../core/sandbox.ts';
import { printable } from '../../lib/printable.ts';
import type { Attach } from '../../shell/streams/attached-command.ts';
import { firstProcessCommand } from '../../shell/streams/keeper.ts';
import type { CloudListing, CloudProgress, CloudProvider, CloudState, CloudWish } from '../cloud/provider.ts';
import type { ModalAccess } from './access.ts';
import { attachedProcess } from './attached-process.ts';
import { endWords, type Result } from './end-words.ts';
import { isMissing } from './errors.ts';
import { imageIdOf } from './image.ts';
import type { ModalOptions } from './options.ts';
import { resourcesOf } from './resources.ts';

const answerMs = 30_000;
const createMs = 120_000;
/** A machine may have to be found, and the image brought there. */
const startMs = 300_000;
const attachMs = 60_000;
const snapshotMs = 300_000;
const checkpointMs = 10 * 60_000;
/** The program that made a sandbox attaches to it within this time, or is dead. */
const minIdleSeconds = 60;
/** Longer lists are not believed. */
const maxPages = 100;
const endedSeconds = 10;

/** Finds what was made by a call whose answer was lost. */
const requestTag = 'hermetic-request';
const networks = { open: 1, blocked: 2 } as const;
const createIfMissing = 1;
const imagePrefix = 'im-';

/** A running sandbox is known by its own id, and one that was stopped by the id of the image that was made of its files. */
export class ModalProvider implements CloudProvider {
  readonly home = '/root';
  readonly workspace = '/workspace';
  readonly pulse = { everyMs: 5_000, silenceSeconds: 20 };
  readonly checkpoints = {
    everyMs: checkpointMs,
    save: (reference: string) => this.#snapshot(reference),
    remove: (reference: string) => this.remove(reference),
  };
  readonly #access: ModalAccess;
  readonly #options: ModalOptions;

  constructor(access: ModalAccess, options: ModalOptions) {
    this.#access = access;
    this.#options = options;
  }

  async account(): Promise<string> {
    const { workspaceName } = await this.#access.call({ ms: answerMs }, async ({ cpClient }, signal) =>
      cpClient.tokenInfoGet({}, { signal }),
    );
    const environment = this.#access.environmentName;
    const where = environment === '' ? '' : `, environment ${environment}`;
    return `workspace ${printable(workspaceName)} at Modal${where}, app ${this.#options.modal_app}`;
  }

  async owner(): Promise<string> {
    const { workspaceName } = await this.#access.call({ ms: answerMs }, async ({ cpClient }, signal) =>
      cpClient.tokenInfoGet({}, { signal }),
    );
    return `workspace ${printable(workspaceName)} at ${this.#access.server}`;
  }

  async create(wish: CloudWish, how: CloudProgress): Promise<string> {
    const appId = await this.#makeApp(how.signal);
    const imageId = await imageIdOf(this.#access, appId, wish.spec.image ?? this.#options.modal_image, how);
    return await this.#start(appId, imageId, wish, how);
  }

  async resume(reference: string, wish: CloudWish, how: CloudProgress): Promise<string> {
    if (!isImage(reference)) return reference;
    return await this.#start(await this.#makeApp(how.signal), reference, wish, how);
  }

  async state(reference: string): Promise<CloudState> {
    try {
      if (!isImage(reference)) return (await this.#resultOf(reference)) ? 'gone' : 'running';
      await this.#access.call({ ms: answerMs }, ({ cpClient }, signal) => cpClient.imageFromId({ imageId: reference }, { signal }));
      return 'stopped';
    } catch (error) {
      if (isMissing(error)) return 'gone';
      throw error;
    }
  }

  attach(reference: string): Attach {
    return this.#attachWithin(attachMs, reference);
  }

  #attachWithin(ms: number, reference: string): Attach {
    let sandbox: Promise<Sandbox> | undefined;
    return async (command) => {
      try {
        return await this.#access.call({ ms }, async (client, signal) => {
          sandbox ??= client.sandboxes.fromId(reference);
          const attached = attachedProcess(await (await sandbox).exec([...command], { mode: 'binary' }));
          // Its caller has given up.
          if (signal.aborted) attached.destroy();
          return attached;
        });
      } catch (error) {
        throw await this.#explained(reference, error);
      }
    };
  }

  /** What became of the sandbox says more than that it took no command. */
  async #explained(reference: string, error: unknown): Promise<unknown> {
    const result = await this.#resultOf(reference).catch(() => undefined);
    if (!result) return error;
    return new HermeticError('sandbox/lost', `The sandbox has ended at Modal: ${endWords(result)}.`, { cause: error });
  }

  async stop(reference: string): Promise<string> {
    if (isImage(reference)) return reference;
    const image = await this.#snapshot(reference);
    await this.#terminate(reference);
    return image;
  }

  async remove(reference: string): Promise<void> {
    if (!isImage(reference)) return await this.#terminate(reference);
    await ignoreMissing(
      this.#access.call({ ms: answerMs }, async ({ cpClient }, signal) => {
        await cpClient.imageDelete({ imageId: reference }, { signal });
      }),
    );
  }

  async list(labels: Readonly<Record<string, string>>): Promise<CloudListing[]> {
    const appId = await this.#findApp();
    return appId === undefined ? [] : await this.#listIn(appId, labels);
  }

  /** Rejects, and leaves nothing, unless the sandbox runs and takes commands. */
  async #start(appId: string, imageId: string, { spec, labels }: CloudWish, { progress, signal }: CloudProgress): Promise<string> {
    const tags = { ...labels, [requestTag]: randomUUID() };
    const definition = await this.#definition(spec, imageId);
    progress('Modal starts a sandbox');
    let reference: string | undefined;
    try {
      // Security: not tried again by the package, which would make another one after an answer that was lost, and not given up, because what it makes
      // would be left.
      const answer = await this.#access.call({ ms: createMs }, ({ cpClient }) =>
        cpClient.sandboxCreateV2({ appId, definition, tags: tagList(tags) }, { retries: 0 }),
      );
      reference = referenceOf(answer.sandboxId);
      await this.#makeDirectories(reference, signal);
      return reference;
    } catch (error) {
      const left = reference === undefined ? await this.#listIn(appId, tags).catch(() => []) : [{ reference }];
      for (const one of left) await this.#terminate(one.reference).catch(() => undefined);
      throw error;
    }
  }

  /** Security: both clocks of the provider are always set, and no network is open that was not asked for. */
  async #definition(spec: SandboxSpec, imageId: string) {
    return {
      imageId,
      entrypointArgs: await firstProcessCommand(spec),
      timeoutSecs: Math.ceil(this.#options.modal_max_lifetime),
      idleTimeoutSecs: Math.max(minIdleSeconds, Math.ceil(spec.idleSeconds)),
      networkAccess: { networkAccessType: spec.network === 'none' ? networks.blocked : networks.open },
      resources: resourcesOf(spec.limits),
      // As the package itself asks for a sandbox to which nothing from outside leads.
      openPorts: { ports: [] },
    };
  }

  /** The first command: it waits for the machine, and proves that commands run there. */
  async #makeDirectories(reference: string, signal: AbortSignal | undefined): Promise<void> {
    const run = async (): Promise<number | undefined> => {
      const command = await this.#attachWithin(startMs, reference)(['mkdir', '-p', '--', this.home, this.workspace]);
      command.stdin.end();
      for (const stream of [command.stdout, command.stderr]) for await (const _ of stream);
      return await command.exitCode();
    };
    const code = await this.#access.call({ ms: startMs, signal }, run);
    if (code === 0) return;
    throw new HermeticError('sandbox/open-failed', `A sandbox started at Modal, but mkdir in it ended with code ${code ?? 'unknown'}.`, {
      hint: 'The image needs bash 5 or newer and coreutils: change terminal.modal_image.',
    });
  }

  async #snapshot(reference: string): Promise<string> {
    const ttlMs = this.#options.modal_snapshot_days * 24 * 3600 * 1000;
    try {
      const { imageId } = await this.#access.call({ ms: snapshotMs + answerMs }, async ({ sandboxes }) => {
        const sandbox = await sandboxes.fromId(reference);
        return await sandbox.snapshotFilesystem({ timeoutMs: snapshotMs, ttlMs }).finally(() => sandbox.detach());
      });
      return referenceOf(imageId);
    } catch (error) {
      throw await this.#explained(reference, error);
    }
  }

  /** Resolves when it has ended. */
  async #terminate(sandboxId: string): Promise<void> {
    await ignoreMissing(
      this.#access.call({ ms: answerMs }, async ({ cpClient }, signal) => {
        await cpClient.sandboxTerminateV2({ sandboxId }, { signal });
        await cpClient.sandboxWaitV2({ sandboxId, timeout: endedSeconds }, { signal });
      }),
    );
  }

  /** How it ended; undefined while it runs. */
  async #resultOf(sandboxId: string): Promise<Result | undefined> {
    const { result } = await this.#access.call({ ms: answerMs }, ({ cpClient }, signal) =>
      cpClient.sandboxWaitV2({ sandboxId, timeout: 0 }, { signal }),
    );
    return result?.status ? result : undefined;
  }

  async #listIn(appId: string, labels: Readonly<Record<string, string>>): Promise<CloudListing[]> {
    const found = new Map<string, CloudListing>();
    let beforeTimestamp: number | undefined;
    for (let page = 0; page < maxPages; page++) {
      const { sandboxes } = await this.#access.call({ ms: answerMs }, ({ cpClient }, signal) =>
        cpClient.sandboxListV2(
          { appId, tags: tagList(labels), includeFinished: false, ...(beforeTimestamp !== undefined && { beforeTimestamp }) },
          { signal },
        ),
      );
      if (sandboxes.length === 0) return [...found.values()];
      for (const { id, tags, createdAt } of sandboxes) {
        const own = Object.fromEntries(tags.map(({ tagName, tagValue }) => [tagName, tagValue]));
        // Security: only what has our labels is ours, also when the server sends more.
        const isOurs = Object.entries(labels).every(([name, value]) => own[name] === value);
        if (isOurs) found.set(id, { reference: referenceOf(id), labels: own, state: 'running', createdAt: new Date(createdAt * 1000) });
      }
      beforeTimestamp = sandboxes.at(-1)?.createdAt;
    }
    throw new HermeticError('backend/unavailable', 'Modal lists sandboxes without end.');
  }

  async #findApp(): Promise<string | undefined> {
    try {
      return await this.#app({});
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  #makeApp(signal: AbortSignal | undefined): Promise<string> {
    return this.#app({ objectCreationType: createIfMissing }, signal);
  }

  async #app(creation: { objectCreationType?: number }, signal?: AbortSignal): Promise<string> {
    const wanted = { appName: this.#options.modal_app, environmentName: this.#access.environmentName, ...creation };
    const { appId } = await this.#access.call({ ms: answerMs, signal }, ({ cpClient }, ending) =>
      cpClient.appGetOrCreate(wanted, { signal: ending }),
    );
    return appId;
  }
}

function isImage(reference: string): boolean {
  return reference.startsWith(imagePrefix);
}

/** Security: it is written to a file and shown to people. */
function referenceOf(id: string): string {
  if (/^(?:sb|im)-[\w-]{1,100}$/.test(id)) return id;
  throw new HermeticError('backend/unavailable', `Modal answered with ${JSON.stringify(printable(id).slice(0, 100))}, which is no id.`);
}

function tagList(tags: Readonly<Record<string, string>>): { tagName: string; tagValue: string }[] {
  return Object.entries(tags).map(([tagName, tagValue]) => ({ tagName, tagValue }));
}

async function ignoreMissing(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
