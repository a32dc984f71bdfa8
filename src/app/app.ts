import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { backendDrivers } from '../backends/index.ts';
import { nameSession } from '../backends/sandbox-directory.ts';
import { isDiskWatched } from '../backends/unenforced-limits.ts';
import { installationId } from '../config/installation.ts';
import type { LoadedConfig } from '../config/load.ts';
import { type Audience, type SandboxSettings, sandboxSettings } from '../config/sandbox-settings.ts';
import { backendNames } from '../config/schema.ts';
import type { Proof } from '../core/proof.ts';
import type { Backend, OpenListener, OpenSandbox, SandboxSpec } from '../core/sandbox.ts';
import type { ProofEntry, Store } from '../core/store.ts';
import { ensureProven, notContained, type ProofSubject, proofEntry } from '../proof/containment.ts';
import { prove } from '../proof/index.ts';
import { insteadNotice, noneWorks, type Passed, passOver } from '../sandboxes/backend-choice.ts';
import { candidatesFor } from '../sandboxes/candidates.ts';
import { diskAllowance, watchDisk } from '../sandboxes/disk-limited-sandbox.ts';
import { ensureWorkdir } from '../sandboxes/ensure-workdir.ts';
import { copyCredentials } from '../sandboxes/home-mounts.ts';
import { noteEnd } from '../sandboxes/noted-sandbox.ts';
import type { Comparison } from '../sandboxes/pool/pooled-sandbox.ts';
import { openRecorded } from '../sandboxes/recorded-sandbox.ts';
import type { SandboxRequest } from '../sandboxes/request.ts';
import { SandboxSpecs } from '../sandboxes/specs.ts';
import { openStore } from '../stores/index.ts';
import { Approvals } from './approvals.ts';
import { redactorOf } from './secrets.ts';
import { SessionSandboxes } from './session-sandboxes.ts';
import { SandboxStatus } from './status/sandbox-status-cache.ts';

export interface OpenedSandbox {
  sandbox: OpenSandbox;
  backend: Backend;
  spec: SandboxSpec;
  /** Equal for sandboxes that are made alike. */
  fingerprint: string;
}

/** For whoever wants to hear nothing. */
export const quiet: OpenListener = { notice: () => undefined, progress: () => undefined };

/** Comparing takes half as long as a short command, so commands in quick succession share one comparison. */
const currentForMs = 1_000;

/** The parts of Hermetic, put together from a configuration. No input or output happens until something is asked of it. */
export class App {
  readonly #specs: SandboxSpecs;
  #loaded: LoadedConfig;
  #backends: ReadonlyMap<string, Backend> | undefined;
  #installation: string | undefined;
  #store: Promise<Store> | undefined;
  #sandboxes: SessionSandboxes | undefined;
  #approvals: Approvals | undefined;
  #status: SandboxStatus | undefined;

  /** Takes every secret out of a text, also those that were known earlier in this program's life. */
  readonly redact = redactorOf(() => this.loaded);

  constructor(loaded: LoadedConfig, workingDirectory: string) {
    this.#loaded = loaded;
    this.#specs = new SandboxSpecs(
      () => this.#loaded,
      workingDirectory,
      () => this.installation,
    );
  }

  /** The configuration in force. Read it when it is needed: that of a running gateway changes. */
  get loaded(): LoadedConfig {
    return this.#loaded;
  }

  /** From now on another version of the configuration is in force, in which keys that need a restart are as they were. */
  apply(loaded: LoadedConfig): void {
    this.#loaded = loaded;
    // Security: its secrets are known from now on, also when the next version comes before anything is redacted.
    this.redact('');
    this.#status?.settingsChanged();
  }

  get installation(): string {
    this.#installation ??= installationId(this.loaded.home);
    return this.#installation;
  }

  /** Opened when it is first needed. */
  store(): Promise<Store> {
    this.#store ??= openStore(join(this.loaded.home, 'state.db')).catch((error: unknown) => {
      this.#store = undefined;
      throw error;
    });
    return this.#store;
  }

  /** One for every session, with the settings of messaging sessions. */
  get sandboxes(): SessionSandboxes {
    this.#sandboxes ??= new SessionSandboxes(this);
    return this.#sandboxes;
  }

  get approvals(): Approvals {
    this.#approvals ??= new Approvals(this);
    return this.#approvals;
  }

  /** What is known about the backend of messaging sessions. */
  get sandboxStatus(): SandboxStatus {
    this.#status ??= new SandboxStatus(this);
    return this.#status;
  }

  /** Lets go of `sandboxes` and of the state database. What was opened by `openSandbox` is for whoever opened it to close. */
  async close(): Promise<void> {
    await this.#sandboxes?.stop();
    this.#sandboxes = undefined;
    // What cannot be written must not keep anybody from leaving.
    await this.#approvals?.settled().catch(() => undefined);
    this.#approvals = undefined;
    await this.#status?.settled();
    this.#status = undefined;
    const store = await this.#store;
    this.#store = undefined;
    await store?.close();
  }

  settings(audience: Audience): SandboxSettings {
    return sandboxSettings(this.loaded.config, audience);
  }

  /** By name, in the order of preference. */
  get backends(): ReadonlyMap<string, Backend> {
    if (this.#backends) return this.#backends;
    const { terminal } = this.loaded.config;
    const context = {
      installation: this.installation,
      sandboxesDirectory: terminal.sandbox_dir,
      environment: this.loaded.environment,
      docker: {
        host: terminal.docker_host,
        image: terminal.docker_image,
        runtime: terminal.docker_runtime,
        extraArgs: terminal.docker_extra_args,
      },
    };
    this.#backends = new Map(backendDrivers.map((driver) => [driver.kind, driver.create(context)]));
    return this.#backends;
  }

  /** The backends a name stands for: one, or for `auto` those to try in turn. */
  candidates(name: string): Backend[] {
    return candidatesFor(name, this.backends, backendNames);
  }

  /** Opens the session's sandbox. With `auto`, on the first backend that works; the listener is told why an earlier one does not. */
  async openSandbox(request: SandboxRequest, listener: OpenListener, signal?: AbortSignal): Promise<OpenedSandbox> {
    const status = request.audience === 'messaging' && request.backend === undefined ? this.#status : undefined;
    try {
      const opened = await this.#openFirst(request, listener, signal);
      status?.opened(opened.backend);
      return opened;
    } catch (error) {
      if (!signal?.aborted) status?.opened(undefined);
      throw error;
    }
  }

  async #openFirst(request: SandboxRequest, listener: OpenListener, signal?: AbortSignal): Promise<OpenedSandbox> {
    const name = request.backend ?? this.settings(request.audience).backend;
    const candidates = this.candidates(name);
    const passed: Passed[] = [];
    for (const backend of candidates) {
      let opened: OpenedSandbox;
      try {
        opened = await this.#open(request, backend, listener, signal);
      } catch (error) {
        if (name !== 'auto') throw error;
        passed.push(passOver(error, backend, await this.#hasFiles(request, backend)));
        continue;
      }
      if (passed.length > 0) listener.notice(...insteadNotice(passed, backend));
      if (backend.traits.isolation !== 'none') await this.#prove(opened, request.audience, listener);
      if (request.parts.length > 0) await this.#tellOfOthers(request, backend, candidates, listener);
      return opened;
    }
    throw noneWorks(passed);
  }

  /** Whether the settings would make the same sandbox for this session now. */
  async isCurrent(opened: OpenedSandbox, request: SandboxRequest): Promise<boolean> {
    return (await this.#compare(opened, request)).differs === 'not';
  }

  async #compare(opened: OpenedSandbox, request: SandboxRequest): Promise<Comparison> {
    return this.#specs.compare(opened, await this.#specs.resolve(request, opened.backend, quiet));
  }

  /** The same for callers that ask before every command: an answer is reused for a moment, because the comparison reads many files. */
  comparisonOf(opened: OpenedSandbox, request: SandboxRequest): () => Promise<Comparison> {
    let checked = { at: Date.now(), loaded: this.loaded, answer: { differs: 'not', env: {} } as Comparison };
    return async () => {
      const { loaded } = this;
      if (loaded === checked.loaded && Date.now() - checked.at < currentForMs) return checked.answer;
      const answer = await this.#compare(opened, request);
      checked = { at: Date.now(), loaded, answer };
      return answer;
    };
  }

  /**
   * Gives an open sandbox that belongs to nobody to a session that has none. undefined, and the spare is what it was, when the session has
   * one, or would get another one if it were opened for it.
   */
  async claim(spare: OpenedSandbox, request: SandboxRequest): Promise<OpenedSandbox | undefined> {
    const { backend, fingerprint } = spare;
    const candidates = this.candidates(request.backend ?? this.settings(request.audience).backend);
    const derived = this.#specs.derivedName(request.parts);
    if (!candidates.includes(backend) || candidates.some((other) => this.#specs.hasFiles(other, derived))) return undefined;
    const { spec, fingerprint: wanted } = await this.#specs.resolve(request, backend, quiet, spare.spec.name);
    const { sandboxes, proofs } = await this.store();
    // Security: a proof may have broken since the spare was made.
    const isProven = backend.traits.isolation === 'none' || (await proofs.latest(backend.kind, fingerprint))?.held === true;
    if (wanted !== fingerprint || !isProven) return undefined;
    if (backend.traits.honours.mounts === true) await copyCredentials(this.#specs.offered(spec));
    if (!(await sandboxes.claim({ backend: backend.kind, name: spec.name }, request.parts))) return undefined;
    await nameSession(spec);
    this.approvals.noteSandbox({ backend, spec }, request.parts, 'claimed');
    return { ...spare, spec };
  }

  /** A session that was given a spare keeps the name of that. One whose files are at hand need not wait for the state database. */
  async #nameOf({ parts }: SandboxRequest, backend: Backend): Promise<string> {
    if (parts.length === 0) return this.#specs.derivedName(['spare', randomUUID()]);
    const derived = this.#specs.derivedName(parts);
    if (this.#specs.hasFiles(backend, derived)) return derived;
    const [known] = await (await this.store()).sandboxes.list({ backend: backend.kind, session: parts });
    return known?.name ?? derived;
  }

  async #open(request: SandboxRequest, backend: Backend, listener: OpenListener, signal?: AbortSignal): Promise<OpenedSandbox> {
    const { parts, isPassing = false } = request;
    const name = await this.#nameOf(request, backend);
    const { spec, fingerprint } = await this.#specs.resolve(request, backend, listener, name);
    if (backend.traits.honours.mounts === true) await copyCredentials(this.#specs.offered(spec));
    const ledger = this.store().then(({ sandboxes }) => sandboxes);
    let sandbox: OpenSandbox;
    try {
      const note = (outcome: string): void => this.approvals.noteSandbox({ backend, spec }, parts, outcome);
      sandbox = noteEnd(await openRecorded({ backend, spec, parts, isPassing, fingerprint, ledger }, listener, signal), note);
      note('opened');
      await ensureWorkdir(sandbox, backend, spec);
    } catch (error) {
      // Another program has given the session a spare meanwhile.
      const isRenamed = parts.length > 0 && name !== (await this.#nameOf(request, backend).catch(() => name));
      if (isRenamed) return await this.#open(request, backend, listener, signal);
      throw error;
    }
    const { diskMb } = spec.limits;
    if (diskMb === 0 || !isDiskWatched(backend.traits)) return { sandbox, backend, spec, fingerprint };
    const notice = (text: string, inChat?: string): void => listener.notice(text, inChat);
    const watch = { ...diskAllowance(diskMb), measure: () => backend.diskUse(spec), notice };
    return { sandbox: watchDisk(sandbox, watch), backend, spec, fingerprint };
  }

  /** Security: people in chats never get a sandbox whose proof broke. Whoever sits at the terminal is told and decides. */
  async #prove(opened: OpenedSandbox, audience: Audience, listener: OpenListener): Promise<void> {
    const { backend, sandbox } = opened;
    try {
      const remember = (proof: Proof) => this.#remember(opened, proof);
      if (await ensureProven({ ...opened, ...this.#proofGround }, (await this.store()).proofs, listener, remember)) return;
      if (audience === 'messaging') throw notContained(backend);
      listener.notice(`${notContained(backend).message} ${notContained(backend).hint}`);
    } catch (error) {
      await sandbox.stop();
      throw error;
    }
  }

  /** Proves sandboxes of these settings anew, with a sibling beside it, and remembers what came of it. Both are gone afterwards. */
  async proveBackend(backend: Backend, audience: Audience): Promise<Proof> {
    const open = (title: string) => this.#open({ audience, parts: ['proof', title, randomUUID()], title, isPassing: true }, backend, quiet);
    const subject = await open('proof');
    try {
      const sibling = await open('sibling of a proof');
      try {
        const proof = await prove({ ...subject, sibling, ...this.#proofGround, hostAliases: backend.traits.hostAliases });
        await this.#remember(subject, proof);
        return proof;
      } finally {
        await sibling.sandbox.destroy();
      }
    } finally {
      await subject.sandbox.destroy();
    }
  }

  async #remember({ backend, fingerprint }: OpenedSandbox, proof: Proof): Promise<void> {
    await (await this.store()).proofs.record(proofEntry(backend, fingerprint, proof));
    await this.#status?.proofStored();
  }

  /** undefined when no sandbox with these settings was ever proven. */
  async latestProof(backend: Backend, audience: Audience): Promise<ProofEntry | undefined> {
    const { fingerprint } = await this.#specs.resolve({ audience, parts: ['proof'], title: 'proof' }, backend, quiet);
    return await (await this.store()).proofs.latest(backend.kind, fingerprint);
  }

  /** What a proof needs to know of the host. */
  get #proofGround(): Pick<ProofSubject, 'hermeticHome' | 'engineSockets'> {
    const { docker_host: host } = this.loaded.config.terminal;
    return { hermeticHome: this.loaded.home, engineSockets: host?.startsWith('unix://') ? [host.slice('unix://'.length)] : [] };
  }

  async #hasFiles(request: SandboxRequest, backend: Backend): Promise<boolean> {
    return this.#specs.hasFiles(backend, await this.#nameOf(request, backend));
  }

  /** Files of a session do not move between backends, so nobody should look for them in vain. */
  async #tellOfOthers(request: SandboxRequest, backend: Backend, candidates: readonly Backend[], listener: OpenListener): Promise<void> {
    for (const other of candidates) {
      if (other !== backend && (await this.#hasFiles(request, other))) {
        const text = `This session also has files on ${other.kind}`;
        listener.notice(`${text} (--backend ${other.kind}).`, `${text}, which are not here.`);
      }
    }
  }

  /** What the sandbox of this session is called, unless it has been given a spare. */
  sandboxName(parts: readonly string[]): string {
    return this.#specs.derivedName(parts);
  }

  /** Everything the configuration says about the sandbox of a session on a backend. */
  specFor(request: SandboxRequest, backend: Backend, listener: OpenListener): SandboxSpec {
    return this.#specs.specFor(request, backend, listener);
  }
}
