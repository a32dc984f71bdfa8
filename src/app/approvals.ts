import { reviewerOf } from '../agent/review.ts';
import { ConnectionQuestions } from '../approval/connection-questions.ts';
import { type ApprovalStores, guardOf } from '../approval/guard.ts';
import { Questions } from '../approval/questions.ts';
import { actionDetails, type CommandConnections, connectionEvents } from '../approval/records.ts';
import { endSession } from '../approval/session-end.ts';
import { Recorder } from '../audit/recorder.ts';
import { JudgeThread } from '../bash-judge/index.ts';
import type { Model } from '../core/agent.ts';
import type { SessionGuard } from '../core/approval.ts';
import type { AuditEvent } from '../core/audit.ts';
import type { Usage } from '../core/conversation.ts';
import { openModel } from '../models/index.ts';
import type { OpenedSandbox } from '../sandboxes/open.ts';
import type { SandboxRequest } from '../sandboxes/request.ts';
import type { CallConnections, FinishedCall } from '../tools/toolbox.ts';
import type { App } from './app.ts';
import { judgeContextOf } from './judge-context.ts';

export interface GuardRequest {
  session: Pick<SandboxRequest, 'parts' | 'title'>;
  /** Makes sure that the session's sandbox is open. */
  open(): Promise<OpenedSandbox>;
  /** A durable name of what asks, such as a turn: questions it asked before a restart are taken up again. */
  run?: string | undefined;
  /** Reviews in the mode `smart`. Default: as it was configured when the program began. */
  model?: (() => Promise<Model>) | undefined;
  /** Counts what a review took. When it rejects, a person is asked. */
  spent?: ((usage: Usage) => Promise<void>) | undefined;
}

/** Judging, asking, remembering and recording, with the configuration and the state database of an installation. */
export class Approvals {
  /** The connections that were noted since the program began. */
  readonly connectionCounts = { blocked: 0, allowed: 0 };
  readonly #app: App;
  readonly #recorder: Recorder;
  readonly #redact: (text: string) => string;
  readonly #judge: JudgeThread;
  #questions: Promise<Questions> | undefined;

  constructor(app: App) {
    this.#app = app;
    this.#judge = new JudgeThread({ programs: () => app.loaded.config.approvals.programs });
    this.#recorder = new Recorder(async () => (await app.store()).audit);
    // Other people read the log too, so secrets are removed also when `security.redact_secrets` is off.
    this.#redact = app.redact;
  }

  guard({ session, open, run, model, spent }: GuardRequest): SessionGuard {
    const app = this.#app;
    const configured = (): Promise<Model> => openModel(app.loaded.config.model, app.loaded.environment);
    return guardOf({
      policy: this.#judge,
      callContext: async (actions, origin) => {
        const place = await open();
        const judgeContext = judgeContextOf(actions, place, origin, this.#app.loaded);
        const { sandbox, backend } = place;
        return { judgeContext, sandbox: sandbox.name, backend: backend.kind, bring: (paths) => sandbox.bring(paths) };
      },
      session,
      run,
      // Read when a call is judged, because the configuration may change.
      get mode() {
        return app.loaded.config.approvals.mode;
      },
      get cronMode() {
        return app.loaded.config.approvals.cron_mode;
      },
      get timeoutMs() {
        return app.loaded.config.approvals.timeout * 1000;
      },
      get approvers() {
        return app.loaded.config.approvals.approvers;
      },
      reviewer: reviewerOf({ model: model ?? configured, redact: this.#redact, spent }),
      stores: () => this.#stores(),
      redact: this.#redact,
    });
  }

  /** Asks about hosts that no rule of the network names, for the session of this guard. */
  connectionQuestions(guard: SessionGuard): ConnectionQuestions {
    return new ConnectionQuestions({ guard, isAsking: () => this.#app.loaded.config.network.ask });
  }

  /** One for all, because a question is waited for once. */
  questions(): Promise<Questions> {
    const app = this.#app;
    const options = {
      redact: this.#redact,
      get approvers() {
        return app.loaded.config.approvals.approvers;
      },
    };
    this.#questions ??= this.#app.store().then(
      ({ approvals: ledger }) => new Questions(Object.assign(options, { ledger })),
      (error: unknown) => {
        this.#questions = undefined;
        throw error;
      },
    );
    return this.#questions;
  }

  /** Ends what was good for this session only. */
  async endSession(parts: readonly string[], by: string): Promise<void> {
    const { grants, modes } = await this.#app.store();
    await endSession({ questions: await this.questions(), grants, modes }, parts, by);
  }

  /** For the log, after something happened. Never fails, and no one waits for it; an event that cannot be written keeps the guard from allowing more. */
  note(event: Omit<AuditEvent, 'at'>): void {
    this.#recorder.note({ at: new Date(), ...event });
  }

  noteSandbox({ backend, spec }: Pick<OpenedSandbox, 'backend' | 'spec'>, parts: readonly string[], outcome: string): void {
    const what = { sandbox: spec.name, backend: backend.kind, image: spec.image ?? null };
    this.note({ actor: 'hermetic', session: parts, kind: 'sandbox', what, outcome });
  }

  /** Configuration files changed, by the command line or by hand, and this program uses or refuses them. */
  noteConfig(what: AuditEvent['what'], outcome: 'in force' | 'refused'): void {
    this.note({ actor: 'hermetic', session: [], kind: 'config', what, outcome });
  }

  /** The connections of a command, one event for each destination. */
  noteConnections(connections: CommandConnections): void {
    for (const event of connectionEvents(connections, this.#redact)) this.note(event);
    const { blocked, allowed } = connections.connections;
    for (const { count } of blocked) this.connectionCounts.blocked += count;
    for (const { count } of allowed) this.connectionCounts.allowed += count;
  }

  noteCallConnections(session: readonly string[], { actions, origin, connections }: CallConnections): void {
    this.noteConnections({ session, command: textOf(actions), origin, connections });
  }

  noteCall(session: readonly string[], { tool, actions, origin, result, durationMs }: FinishedCall): void {
    const { source, person = null } = origin;
    const what = { tool, source, person, durationMs, actions: actionDetails(actions, this.#redact) };
    const code = result.ok ? result.data.exit_code : undefined;
    const outcome = result.ok ? (typeof code === 'number' ? `exited ${code}` : 'done') : result.failure;
    this.note({ actor: 'agent', session, kind: kindOf(actions), what, outcome });
  }

  /** A command that a person runs, and how it ended. */
  noteCommand(parts: readonly string[], actor: string, command: string, cwd: string, outcome: string): void {
    const actions = actionDetails([{ kind: 'command', command, cwd }], this.#redact);
    this.note({ actor, session: parts, kind: 'command', what: { source: 'cli', actions }, outcome });
  }

  /** Resolves when everything noted is in the log. */
  settled(): Promise<void> {
    return this.#recorder.settled();
  }

  async #stores(): Promise<ApprovalStores> {
    const [{ grants, modes }, questions] = await Promise.all([this.#app.store(), this.questions()]);
    return { grants, modes, questions, record: (event, sync) => this.#recorder.record(event, sync) };
  }
}

function textOf(actions: FinishedCall['actions']): string {
  const texts = actions.flatMap((action) => (action.kind === 'command' ? [action.command] : action.kind === 'script' ? [action.code] : []));
  return texts.join('\n');
}

function kindOf(actions: FinishedCall['actions']): AuditEvent['kind'] {
  if (actions.some(({ kind }) => kind === 'script')) return 'script';
  return actions.some(({ kind }) => kind === 'command' || kind === 'input') ? 'command' : 'tool';
}
