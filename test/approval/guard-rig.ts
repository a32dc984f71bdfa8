import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach } from 'vitest';
import type { Answerer } from '../../src/approval/approvers.ts';
import { type ApprovalStores, type GuardOptions, guardOf } from '../../src/approval/guard.ts';
import { Questions } from '../../src/approval/questions.ts';
import { Recorder } from '../../src/audit/recorder.ts';
import type { Action, Answer, Approver, CallOrigin, Permission, Question, SessionGuard } from '../../src/core/approval.ts';
import type { AuditRecord } from '../../src/core/audit.ts';
import type { QuestionEntry, Store } from '../../src/core/store.ts';
import { openStore } from '../../src/stores/index.ts';
import { policy } from '../bash-judge/corpus.ts';
import { until } from '../until.ts';
import { judgeContext, session } from './calls.ts';

type Reply = Answer | undefined | ((question: Question, signal: AbortSignal) => Promise<Answer | undefined>);

/** Somebody who answers, and what they were asked. */
export class Person implements Approver {
  readonly asked: Question[] = [];
  reply: Reply;

  constructor(reply: Reply) {
    this.reply = reply;
  }

  async ask(question: Question, signal: AbortSignal): Promise<Answer | undefined> {
    this.asked.push(question);
    return typeof this.reply === 'function' ? await this.reply(question, signal) : this.reply;
  }
}

export const says = (kind: Answer['kind'], remark?: string): Person => new Person({ kind, by: 'ada', ...(remark && { remark }) } as Answer);
/** Is asked, and says nothing for as long as anybody waits. */
export const silent = (): Person =>
  new Person((_question, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true })));

export interface Rig {
  store: Store;
  questions: Questions;
  recorder: Recorder;
  /** Asks a guard made with these options for permission. */
  ask(actions: readonly Action[], origin?: Partial<CallOrigin>, options?: Partial<GuardOptions>, signal?: AbortSignal): Promise<Permission>;
  /** A guard made with these options. */
  guard(options?: Partial<GuardOptions>): SessionGuard;
  records(): Promise<AuditRecord[]>;
}

/** Guards with the real policy and a real database, each opening of it a process of its own as far as anybody can tell. */
export function guardRigs(): (path?: string) => Promise<Rig & { path: string }> {
  const scratch = mkdtempSync(join(tmpdir(), 'hermetic-guard-'));
  const opened: Store[] = [];
  afterEach(async () => await Promise.all(opened.splice(0).map((store) => store.close())));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));
  return async (path = join(mkdtempSync(join(scratch, 'home-')), 'state.db')) => {
    const store = await openStore(path);
    opened.push(store);
    const redact = (text: string): string => text.replaceAll('hunter2', '[redacted]');
    const questions = new Questions({ ledger: store.approvals, approvers: [], redact });
    const recorder = new Recorder(async () => store.audit);
    const stores: ApprovalStores = { questions, grants: store.grants, modes: store.modes, record: (event) => recorder.record(event) };
    const defaults: GuardOptions = {
      policy,
      callContext: async (_actions, { source, role }) => ({
        judgeContext: { ...judgeContext, source, role },
        sandbox: 'abc',
        backend: 'local',
        bring: () => undefined,
      }),
      session,
      mode: 'manual',
      cronMode: 'deny',
      timeoutMs: 60_000,
      approvers: [],
      stores: async () => stores,
      redact,
    };
    return {
      path,
      store,
      questions,
      recorder,
      ask: (actions, origin = {}, options = {}, signal = new AbortController().signal) =>
        guardOf({ ...defaults, ...options })(actions, { source: 'chat', role: 'user', approver: undefined, ...origin }, signal),
      guard: (options = {}) => guardOf({ ...defaults, ...options }),
      records: () => store.audit.list({}, 1000),
    };
  };
}

/** An admin at the shell, and what they answer. */
export const shell: Answerer = { by: 'root', from: 'shell', role: 'admin', person: undefined };
export const allow = { kind: 'once', by: 'root' } as const;
export const deny = { kind: 'deny', by: 'root' } as const;

/** Resolves when so many questions are open. */
export async function openQuestions({ questions }: Pick<Rig, 'questions'>, count: number): Promise<QuestionEntry[]> {
  return await until(`${count} wait`, async () => {
    const found = await questions.open();
    return found.length === count ? found : undefined;
  });
}
