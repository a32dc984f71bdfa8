import { expect, it } from 'vitest';
import type { Approver, Question } from '../../src/core/approval.ts';
import type { ToolResult } from '../../src/core/tool.ts';
import { PendingCalls } from '../../src/mcp/pending-calls.ts';

const question = (code: string): Question => ({
  ...{ id: code, code, session: 'work', sandbox: 'abc', backend: 'docker', actions: [], findings: [] },
  ...{ askedAt: new Date(), expiresAt: new Date() },
});
const done: ToolResult = { ok: true, text: 'done', data: {} };
const never = new AbortController().signal;
const round = { signal: never, progress: () => undefined };

it('asks two questions of a running call one after the other, and each answer is for the one that was shown', async () => {
  const pending = new PendingCalls();
  const start = async (approver: Approver): Promise<ToolResult> => {
    const answers = await Promise.all([approver.ask(question('AAAAAA'), never), approver.ask(question('BBBBBB'), never)]);
    return { ...done, text: answers.map((answer) => answer?.kind).join(' ') } as ToolResult;
  };
  const first = await pending.begin(start, round);
  if (first.kind !== 'asks') throw new Error('it asks nothing');
  expect(first.question.code).toBe('AAAAAA');
  const second = await pending.resume(first.id, { kind: 'once', by: 'ada' }, round);
  if (second?.kind !== 'asks') throw new Error('it asks nothing');
  expect(second.question.code).toBe('BBBBBB');
  expect(pending.resume(first.id, { kind: 'once', by: 'ada' }, round)).toBeUndefined();
  expect(await pending.resume(second.id, { kind: 'deny', by: 'ada' }, round)).toMatchObject({ result: { text: 'once deny' } });
});

it('refuses at once what a process asks after its call has ended, or had not been answered then', async () => {
  let left: Approver | undefined;
  let unanswered: Promise<unknown> | undefined;
  const start = async (approver: Approver): Promise<ToolResult> => {
    left = approver;
    setImmediate(() => {
      unanswered = approver.ask(question('AAAAAA'), never).catch(String);
    });
    return await new Promise((resolve) => setTimeout(() => resolve(done), 50));
  };
  expect(await new PendingCalls().begin(start, round)).toMatchObject({ kind: 'asks' });
  expect(await unanswered).toContain('the call is over');
  await expect(left?.ask(question('BBBBBB'), never)).rejects.toThrow('the call is over');
});
