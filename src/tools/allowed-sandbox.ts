import type { ConnectionAsker, Connections } from '../core/egress.ts';
import { HermeticError } from '../core/errors.ts';
import type { ExecHandle, ExecRequest, Sandbox, SessionMeaning } from '../core/sandbox.ts';
import type { CallHandle, CallSandbox } from '../core/tool.ts';
import { CommandNetwork } from './command-network.ts';
import type { RunningCall } from './running-call.ts';

/** What the commands of a call may do. */
export interface CallPermission {
  /** Whether a session is still what it was when the call was allowed. */
  isAsAllowed(session: SessionMeaning): boolean;
  /** Decides about connections that no rule of a restricted network allows; undefined where people cannot be asked about them. */
  askToConnect: ConnectionAsker | undefined;
  /** Told of the connections of each command, for the log. Undefined for calls whose actions are no commands. */
  connected: ((connections: Connections) => void) | undefined;
  signal: AbortSignal;
  /** Told what the call waits for. */
  call: Pick<RunningCall, 'waiting' | 'during'>;
}

/** The sandbox that a tool gets for one call. Security: the only one that it gets, so no tool can run anything without the last check. */
export class AllowedSandbox implements CallSandbox {
  readonly #sandbox: Sandbox;
  readonly #permission: CallPermission;
  readonly #handles: AllowedHandle[] = [];
  #hasBegun = false;
  #isOver = false;

  constructor(sandbox: Sandbox, permission: CallPermission) {
    this.#sandbox = sandbox;
    this.#permission = permission;
  }

  get name(): string {
    return this.#sandbox.name;
  }

  get cwd(): string {
    return this.#sandbox.cwd;
  }

  get definitions(): Readonly<Record<string, string>> {
    return this.#sandbox.definitions;
  }

  /** Whether a command has begun for which it mattered what the session was like. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  async exec(request: ExecRequest): Promise<CallHandle> {
    if (this.#isOver) throw new HermeticError('tool/failed', 'The call is over. Nothing was run.');
    const isBound = !isIndependent(request);
    const { isAsAllowed, signal, call } = this.#permission;
    const { askToConnect, connected } = isBound ? this.#permission : noNetwork;
    const network = new CommandNetwork({ askToConnect, connected: (found) => connected?.(found), signal, call });
    const bound = { ...request, ...(isBound && { onlyIf: isAsAllowed }), askToConnect: network.ask };
    const handle = await call.during('shell', this.#sandbox.exec(bound));
    this.#hasBegun ||= isBound;
    const allowed = new AllowedHandle(handle, network);
    if (connected) this.#handles.push(allowed);
    return allowed;
  }

  /** The call is over: the connections of its commands are noted, also those that the tool has not asked for. */
  end(): void {
    this.#isOver = true;
    for (const handle of this.#handles.splice(0)) void handle.end();
  }
}

/** For commands of our own. */
const noNetwork = { askToConnect: undefined, connected: undefined } as const;

/** Nothing of a session changes the meaning of such a command. */
function isIndependent({ plain, cwd }: ExecRequest): boolean {
  return plain === true && cwd?.startsWith('/') === true;
}

class AllowedHandle implements CallHandle {
  readonly #handle: ExecHandle;
  readonly #network: CommandNetwork;
  #isKept = false;

  constructor(handle: ExecHandle, network: CommandNetwork) {
    this.#handle = handle;
    this.#network = network;
  }

  get output(): ExecHandle['output'] {
    return this.#handle.output;
  }

  get exit(): ExecHandle['exit'] {
    return this.#handle.exit;
  }

  get clock(): CallHandle['clock'] {
    return this.#network.clock;
  }

  keep(): void {
    this.#isKept = true;
  }

  note(connections: Connections): void {
    this.#network.note(connections);
  }

  async end(): Promise<void> {
    this.#network.letGo();
    if (!this.#isKept && !this.#network.isNoted) this.note(await this.connections());
  }

  async networkNote(hasFailed: boolean): Promise<string | undefined> {
    return await this.#network.sentence(() => this.connections(), hasFailed);
  }

  async troubles(): ReturnType<ExecHandle['troubles']> {
    return await this.#handle.troubles();
  }

  async connections(): Promise<Connections> {
    return await this.#handle.connections();
  }

  async write(data: Uint8Array | string): Promise<void> {
    await this.#handle.write(data);
  }

  closeStdin(): void {
    this.#handle.closeStdin();
  }

  async kill(...[signal]: Parameters<ExecHandle['kill']>): Promise<void> {
    await this.#handle.kill(signal);
  }

  async resize(...[size]: Parameters<ExecHandle['resize']>): Promise<void> {
    await this.#handle.resize(size);
  }
}
