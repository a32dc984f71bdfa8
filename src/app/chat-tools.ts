import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { asData } from '../agent/fence.ts';
import { receiveFile } from '../backends/received-files.ts';
import type { Model, TurnFacts } from '../core/agent.ts';
import type { CallOrigin } from '../core/approval.ts';
import type { WatchedProcess } from '../core/background.ts';
import type { Usage } from '../core/conversation.ts';
import { HermeticError } from '../core/errors.ts';
import type { SessionId } from '../core/session.ts';
import type { Tool, ToolResult } from '../core/tool.ts';
import type { Wait, WaitKind } from '../core/waits.ts';
import type { ChatSink, SessionTools, ToolsStatus } from '../gateway/deps.ts';
import { diskAllowance } from '../sandboxes/disk-limit.ts';
import { skillsInside } from '../sandboxes/home-mounts.ts';
import type { SessionSandbox } from '../sandboxes/session-sandboxes.ts';
import { putFile } from '../tools/files/put-file.ts';
import type { ProcessTable } from '../tools/process/process-table.ts';
import { withRemarks } from '../tools/remarks.ts';
import type { Toolbox } from '../tools/toolbox.ts';
import type { App } from './app.ts';
import { sessionTools } from './session-toolbox.ts';
import { allowedHosts, secretsInside } from './status/network-status.ts';

export interface ChatToolsOptions {
  id: SessionId;
  title: string;
  sink: ChatSink;
  /** As it is configured now. */
  model(): Promise<Model>;
  /** For the operator: news about the sandbox, with the details that people in the chat are not told. */
  log(text: string): void;
}

/** The tools of a chat session, at the sandbox that `gateway.sandbox_scope` gives it. */
export class ChatTools implements SessionTools {
  readonly #app: App;
  readonly #sandbox: SessionSandbox;
  readonly #toolbox: Toolbox;
  readonly #processes: ProcessTable;
  /** Of sessions that share a sandbox, the one that uses it hears of it. */
  readonly #listen: () => SessionSandbox;
  /** The directory of the session, as the model knows it; undefined when it knows none. */
  #toldDirectory: string | undefined;

  constructor(app: App, { id, title, sink, model, log }: ChatToolsOptions) {
    this.#app = app;
    const { key, parts } = id;
    const notice = (text: string, inChat?: string): void => {
      log(text);
      if (inChat !== undefined) sink.notice(inChat);
    };
    const listener = { notice, progress: () => undefined };
    this.#listen = () => app.sandboxes.of(key, listener);
    this.#sandbox = this.#listen();
    const { user: _, ...place } = key;
    const spent = async (usage: Usage): Promise<void> => {
      const { conversations } = await app.store();
      // A typed command may come before the first turn.
      await conversations.session(parts, { title, place }, new Date());
      await conversations.addUsage(parts, usage);
    };
    const guard = app.approvals.guard({ session: { parts, title }, open: () => this.#sandbox.open(), model, spent });
    const { toolbox, processes } = sessionTools(app, {
      sandbox: this.#sandbox,
      guard,
      connections: app.approvals.connectionQuestions(guard),
      deliver: async ({ name, data, caption }, signal) => await sink.file({ name, data }, caption, signal),
      maxFileBytes: () => sink.maxFileBytes(),
      finished: (call) => app.approvals.noteCall(parts, call),
      connected: (call) => app.approvals.noteCallConnections(parts, call),
      background: async (event) => {
        const survives = event.kind === 'started' && (await this.#sandbox.open()).backend.traits.durable;
        await sink.background(event, survives);
      },
    });
    this.#toolbox = toolbox;
    this.#processes = processes;
  }

  get tools(): readonly Tool[] {
    return [...this.#toolbox.tools.values()];
  }

  get isAtRest(): boolean {
    return !this.#sandbox.isOpen;
  }

  async call(
    name: string,
    input: unknown,
    { run, origin, signal, progress }: { run: string; origin: CallOrigin; signal: AbortSignal; progress: (text: string) => void },
  ): Promise<ToolResult> {
    this.#listen();
    const result = await this.#toolbox.call(name, input, { signal, progress, origin: { ...origin, run } });
    // The model is shown no result of a call that was interrupted.
    return origin.isTyped || signal.aborted ? result : this.#withDirectory(result);
  }

  /** Says where the session is now, when the model does not know. The system prompt cannot: it stays the same for the whole conversation. */
  #withDirectory(result: ToolResult): ToolResult {
    const { opened, cwd } = this.#sandbox;
    if (!opened || cwd === this.#toldDirectory) return result;
    this.#toldDirectory = cwd;
    return { ...result, text: withRemarks(result.text, `The directory of the session is now ${asData(this.#toolbox.redact(cwd), 300)}.`) };
  }

  forgetTold(): void {
    this.#toldDirectory = undefined;
  }

  async put(name: string, data: Uint8Array): Promise<string> {
    const sandbox = this.#listen();
    const { backend, spec } = await sandbox.open();
    const received = await backend.received(spec);
    if (!received) return await putFile(sandbox, name, data);
    const allowance = diskAllowance(backend, spec);
    const use = allowance && (await backend.diskUse(spec));
    if (use && (use.bytes + data.length > allowance.maxBytes || use.files >= allowance.maxFiles)) {
      throw new HermeticError('file/failed', 'the sandbox has no room left for it');
    }
    return `${received.inside}/${await receiveFile(received.directory, name, data)}`;
  }

  async follow(processes: readonly WatchedProcess[]): Promise<void> {
    this.#listen();
    await this.#processes.resume(processes);
  }

  async facts(): Promise<TurnFacts['sandbox']> {
    const { backend, image, network, networkObstacle, limits } = (await this.#app.sandboxStatus.known()).status;
    if (!backend) return undefined;
    const { config, home } = this.#app.loaded;
    const { isolation, installing, honours } = backend.traits;
    // A detail of the prompt that cannot be found out is left out: the turn goes on.
    const received = await backend.received({ directory: '' }).catch(() => undefined);
    return {
      backend: backend.kind,
      isolation,
      network,
      networkObstacle,
      networkHosts: network === 'restricted' ? allowedHosts(config) : undefined,
      networkAsks: network === 'restricted' && config.network.ask,
      secrets: network === 'restricted' ? secretsInside(this.#app.loaded) : undefined,
      persistent: config.terminal.container_persistent,
      image,
      limits: isolation === 'none' ? undefined : limits,
      installing,
      received: received?.inside ?? '~/incoming',
      skills: honours.mounts === true && existsSync(join(home, 'skills')) ? skillsInside : undefined,
    };
  }

  status(): ToolsStatus {
    const { opened } = this.#sandbox;
    const calls = this.#toolbox.running.map(({ tool, text, since, run, waitsFor }) => ({
      ...{ tool, text, since, run, isBackground: false },
      waitsFor: waitsFor && this.#waitOf(waitsFor),
    }));
    const background = this.#processes.running.map(({ facts }) => ({
      tool: 'process',
      text: this.#toolbox.redact(facts.command),
      since: facts.startedAt,
      run: undefined,
      isBackground: true,
      waitsFor: undefined,
    }));
    return {
      sandbox: opened && {
        name: opened.spec.name,
        backend: opened.backend.kind,
        image: opened.spec.image,
        closesInMs: this.#sandbox.closesInMs,
      },
      running: [...calls, ...background],
    };
  }
  /** A sandbox that is not open yet may be behind others in the queue. */
  #waitOf(kind: WaitKind): Wait {
    const { opening } = this.#sandbox;
    if (!opening || (kind !== 'sandbox' && kind !== 'shell')) return { kind };
    return opening.queued ? { kind: 'queue', place: opening.queued.place } : { kind: 'sandbox' };
  }
}
