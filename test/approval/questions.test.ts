import { beforeEach, describe, expect, it } from 'vitest';
import { Questions } from '../../src/approval/questions.ts';
import { command, session } from './calls.ts';
import { allow, deny, guardRigs, openQuestions, type Rig, shell, silent } from './guard-rig.ts';

const newRig = guardRigs();

let rig: Rig & { path: string };
beforeEach(async () => {
  rig = await newRig();
});

const openOnes = (count: number) => openQuestions(rig, count);

describe('answers', () => {
  it('each answer settles its own question, in any order', async () => {
    const texts = ['rm -rf a', 'rm -rf b', 'rm -rf c'];
    const asking = texts.map((one) => rig.ask([command(one)], { approver: silent() }));
    const questions = await openOnes(3);
    const idOf = (wanted: string) => questions.find(({ actions }) => JSON.stringify(actions).includes(wanted))?.id ?? '';
    await rig.questions.answer(idOf('rm -rf c'), allow, shell);
    await rig.questions.answer(idOf('rm -rf a'), deny, shell);
    await rig.questions.answer(idOf('rm -rf b'), allow, shell);
    expect((await Promise.all(asking)).map(({ allowed }) => allowed)).toEqual([false, true, true]);
  });

  it('one of two simultaneous answers counts, and the other one learns which', async () => {
    const asking = rig.ask([command('rm -rf build')], { approver: silent() });
    const [question] = await openOnes(1);
    const other = await newRig(rig.path);
    const attempts = await Promise.all([
      rig.questions.answer(question?.id ?? '', { kind: 'once', by: 'ada' }, { ...shell, by: 'ada' }),
      other.questions.answer(question?.code ?? '', { kind: 'deny', by: 'eve' }, { ...shell, by: 'eve' }),
    ]);
    expect(attempts.map(({ kind }) => kind).sort()).toEqual(['settled', 'stale']);
    const stored = await rig.store.approvals.find(question?.id ?? '');
    for (const attempt of attempts) expect(attempt).toMatchObject({ question: { answer: stored?.answer, settledAt: stored?.settledAt } });
    expect((await asking).allowed).toBe(stored?.answer?.kind === 'once');
  });

  it('an answer to an old question changes nothing for the open one', async () => {
    expect(await rig.ask([command('rm -rf build')], { approver: silent() }, { timeoutMs: 50 })).toMatchObject({ allowed: false });
    const [old] = await rig.store.approvals.list();
    const asking = rig.ask([command('rm -rf build')], { approver: silent() });
    const [current] = await openOnes(1);
    for (const name of [old?.id ?? '', old?.code ?? '']) {
      expect(await rig.questions.answer(name, allow, shell)).toMatchObject({ kind: 'stale', question: { id: old?.id, state: 'expired' } });
    }
    expect((await rig.questions.open()).map(({ id }) => id)).toEqual([current?.id]);
    await rig.questions.answer(current?.id ?? '', deny, shell);
    expect(await asking).toMatchObject({ allowed: false });
  });

  it('an answer from a person who may not answer changes nothing', async () => {
    const asking = rig.ask([command('rm -rf build')], { approver: silent(), person: 'telegram:1' });
    const [question] = await openOnes(1);
    const member = { by: 'eve', from: 'telegram', role: 'user', person: 'telegram:2' } as const;
    expect(await rig.questions.answer(question?.id ?? '', allow, member)).toMatchObject({ kind: 'foreign' });
    expect(await rig.questions.answer('nonsense', allow, member)).toEqual({ kind: 'unknown' });
    const listed = new Questions({ ledger: rig.store.approvals, approvers: ['telegram:2'], redact: (one) => one });
    expect(await listed.answer(question?.id ?? '', allow, { ...member, person: 'telegram:1' })).toMatchObject({ kind: 'foreign' });
    expect(await listed.answer(question?.id ?? '', allow, member)).toMatchObject({ kind: 'settled' });
    expect(await asking).toEqual({ allowed: true, by: 'once' });
  });

  it('a waiting process notices an answer that another process stored', async () => {
    const asking = rig.ask([command('rm -rf build')], { approver: silent() });
    const [question] = await openOnes(1);
    const other = await newRig(rig.path);
    const started = performance.now();
    await other.questions.answer(question?.id ?? '', allow, shell);
    await asking;
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  it('records who answered and from where, without secrets', async () => {
    const asking = rig.ask([command('rm -rf hunter2')], { approver: silent() });
    const [question] = await openOnes(1);
    expect(JSON.stringify(question?.actions)).toContain('hunter2');
    await rig.questions.answer(question?.id ?? '', { kind: 'once', by: 'ada', remark: 'hunter2 it is' }, { ...shell, by: 'ada' });
    await asking;
    const records = await rig.records();
    expect(records.map(({ kind, actor, outcome }) => [kind, actor, outcome])).toEqual([
      ['question', 'agent', 'asked'],
      ['answer', 'ada', 'once'],
      ['judgement', 'agent', 'allowed'],
    ]);
    expect(records[1]?.what).toMatchObject({ question: question?.id, from: 'shell' });
    expect(JSON.stringify(records)).not.toContain('hunter2');
  });
});

describe('withdrawal', () => {
  it('withdraws all questions of a session, and none of another', async () => {
    const asking = ['rm -rf a', 'rm -rf b'].map((one) => rig.ask([command(one)], { approver: silent() }));
    const other = rig.ask([command('rm -rf c')], { approver: silent() }, { session: { parts: ['chat', '2'], title: '2' } });
    await openOnes(3);
    expect(await rig.questions.withdraw(session.parts, 'stopped')).toBe(2);
    for (const permission of await Promise.all(asking)) expect(permission).toMatchObject({ allowed: false });
    const [left] = await openOnes(1);
    expect(await rig.questions.answer(left?.id ?? '', allow, shell)).toMatchObject({ kind: 'settled' });
    expect(await other).toEqual({ allowed: true, by: 'once' });
  });
});
