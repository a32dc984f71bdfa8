import { egressRules } from '../config/egress-rules.ts';
import { stateFile } from '../config/home.ts';
import { installationId } from '../config/installation.ts';
import type { LoadedConfig } from '../config/load.ts';
import { type Audience, type SandboxSettings, sandboxSettings } from '../config/sandbox-settings.ts';
import type { Vault } from '../core/egress.ts';
import type { Backend, OpenListener } from '../core/sandbox.ts';
import type { Store } from '../core/store.ts';
import { EgressThread } from '../egress/thread.ts';
import { candidatesFor, createBackends } from '../sandboxes/backend-choice.ts';
import { type OpenedSandbox, openSandbox, type SandboxDeps } from '../sandboxes/open.ts';
import type { SandboxRequest } from '../sandboxes/request.ts';
import { SandboxSecrets } from '../sandboxes/secrets.ts';
import { SessionSandboxes } from '../sandboxes/session-sandboxes.ts';
import { Approvals } from './approvals.ts';
import { redactorOf } from './secrets.ts';
import { SandboxStatusCache } from './status/sandbox-status-cache.ts';
import { TraceLog } from './trace-log.ts';

/** The parts of Hermetic, put together from a configuration. Each is made when it is first asked for; before that there is no input or output. */
export class App {
  /** Removes every secret from a text, also secrets of earlier configurations of this program. */
  readonly redact = redactorOf(() => this.loaded);
  /** For the functions of `sandboxes`. */
  readonly deps: SandboxDeps;
  readonly #egress = new EgressThread(() => ({ ...egressRules(this.loaded.config), vault: this.#vault() }));
  readonly #secrets = new SandboxSecrets(
    () => this.loaded,
    () => this.#egress.rulesChanged(),
  );
  #loaded: LoadedConfig;
  #backends: ReadonlyMap<string, Backend> | undefined;
  #installation: string | undefined;
  #store: Promise<Store> | undefined;
  #sandboxes: SessionSandboxes | undefined;
  #approvals: Approvals | undefined;
  #status: SandboxStatusCache | undefined;
  #trace: TraceLog | undefined;

  constructor(loaded: LoadedConfig, workingDirectory: string) {
    this.#loaded = loaded;
    this.deps = {
      loaded: () => this.loaded,
      workingDirectory,
      installation: () => this.installation,
      secrets: this.#secrets,
      backends: () => this.backends,
      store: () => this.store(),
      note: (sandbox, parts, outcome) => this.approvals.noteSandbox(sandbox, parts, outcome),
      onOpened: (request, backend) => this.#status?.opened(request, backend),
      onProof: async () => await this.#status?.proofStored(),
    };
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
    this.#egress.rulesChanged();
    this.#status?.settingsChanged();
    this.#trace?.follow(loaded.config.log.trace);
  }

  /** Until `close`, writes the changes of state that `log.trace` asks for, one in a line. */
  traceTo(write: (line: string) => void): void {
    this.#trace?.stop();
    this.#trace = new TraceLog(this.redact, write);
    this.#trace.follow(this.loaded.config.log.trace);
  }

  /** Without an authority no request gets a value. The next sandbox to open says why. */
  #vault(): Vault | undefined {
    try {
      return this.#secrets.vault();
    } catch {
      return undefined;
    }
  }

  get installation(): string {
    this.#installation ??= installationId(this.loaded.home);
    return this.#installation;
  }

  store(): Promise<Store> {
    // The query layer takes a tenth of a second to load, which commands that need no store should not pay.
    this.#store ??= import('../stores/index.ts')
      .then(({ openStore }) => openStore(stateFile(this.loaded.home)))
      .catch((error: unknown) => {
        this.#store = undefined;
        throw error;
      });
    return this.#store;
  }

  /** One for every session, with the settings of messaging sessions. */
  get sandboxes(): SessionSandboxes {
    this.#sandboxes ??= new SessionSandboxes(this.deps, () => this.close());
    return this.#sandboxes;
  }

  get approvals(): Approvals {
    this.#approvals ??= new Approvals(this);
    return this.#approvals;
  }

  /** The status of the sandboxes of messaging sessions. */
  get sandboxStatus(): SandboxStatusCache {
    this.#status ??= new SandboxStatusCache(this);
    return this.#status;
  }

  /** By name, in the order of preference. */
  get backends(): ReadonlyMap<string, Backend> {
    this.#backends ??= createBackends(this.loaded, this.installation, this.#egress);
    return this.#backends;
  }

  settings(audience: Audience): SandboxSettings {
    return sandboxSettings(this.loaded.config, audience);
  }

  /** The backends a name stands for: one, or for `auto` those to try in turn. */
  candidates(name: string): Backend[] {
    return candidatesFor(name, this.backends);
  }

  /** Opens the session's sandbox, which the caller closes. With `auto`, on the first backend that works. */
  openSandbox(request: SandboxRequest, listener: OpenListener, signal?: AbortSignal): Promise<OpenedSandbox> {
    return openSandbox(this.deps, request, listener, signal);
  }

  /** Closes `sandboxes` and the state database; not the sandboxes of `openSandbox`. */
  async close(): Promise<void> {
    await this.#sandboxes?.stop();
    this.#sandboxes = undefined;
    await this.#egress.stop();
    // A log that cannot be written must not keep the program from ending.
    await this.#approvals?.settled().catch(() => undefined);
    this.#approvals = undefined;
    await this.#status?.settled();
    this.#status = undefined;
    const store = await this.#store;
    this.#store = undefined;
    await store?.close();
    this.#trace?.stop();
  }
}
