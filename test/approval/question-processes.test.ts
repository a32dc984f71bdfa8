import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { session } from './calls.ts';
import { allow, deny, guardRigs, openQuestions, type Rig, shell } from './guard-rig.ts';

const newRig = guardRigs();

let rig: Rig & { path: string };
beforeEach(async () => {
  rig = await newRig();
});

const openOnes = (count: number) => openQuestions(rig, count);

describe('a process that dies while a question is open', () => {
  const children: ChildProcess[] = [];
  let marker: string;
  beforeEach(() => {
    marker = join(dirname(rig.path), 'marker');
  });
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  function start(run: string, timeoutMs = 60_000): ChildProcess {
    const client = fileURLToPath(new URL('./question-client.ts', import.meta.url));
    const child = spawn(process.execPath, [client, rig.path, marker, run, String(timeoutMs)], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    return child;
  }
  async function kill(child: ChildProcess): Promise<void> {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  const said = async (child: ChildProcess): Promise<unknown> => JSON.parse(child.stdout ? await text(child.stdout) : '');
  const ran = (): number => (existsSync(marker) ? readFileSync(marker, 'utf8').split('\n').length - 1 : 0);

  it('leaves the question open for the next process, which runs the command once', async () => {
    const first = start('turn-1');
    const [question] = await openOnes(1);
    await kill(first);
    expect(await rig.questions.open()).toHaveLength(1);
    const second = start('turn-1');
    const third = said(second);
    expect(await rig.questions.answer(question?.code ?? '', allow, shell)).toMatchObject({ kind: 'settled' });
    expect(await third).toEqual({ allowed: true, by: 'once' });
    expect(ran()).toBe(1);
    expect(await rig.store.approvals.list()).toMatchObject([
      { id: question?.id, answer: allow, answeredFrom: 'shell', claimedAt: expect.any(Date) },
    ]);
  });

  it('an answer given after the crash resumes the call exactly once', async () => {
    const first = start('turn-1');
    const [question] = await openOnes(1);
    await kill(first);
    await rig.questions.answer(question?.id ?? '', allow, shell);
    const both = [start('turn-1', 2_000), start('turn-1', 2_000)];
    const answers = (await Promise.all(both.map(said))) as { allowed: boolean }[];
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(1);
    expect(ran()).toBe(1);
  });

  it('an answer given after the crash does not count for another run', async () => {
    const first = start('turn-1');
    const [question] = await openOnes(1);
    await kill(first);
    await rig.questions.answer(question?.id ?? '', allow, shell);
    expect(await said(start('turn-2', 500))).toMatchObject({ allowed: false });
    expect(ran()).toBe(0);
  });

  it('a resumed call is refused after a no or an expired question', async () => {
    const first = start('turn-1');
    const [question] = await openOnes(1);
    await kill(first);
    await rig.questions.answer(question?.id ?? '', { ...deny, remark: 'not now' }, shell);
    expect(await said(start('turn-1'))).toMatchObject({ allowed: false, reason: expect.stringContaining('not now') });
    const late = start('turn-3');
    await openOnes(1);
    await kill(late);
    const database = new DatabaseSync(rig.path);
    database.exec(`update questions set expires_at = ${Date.now()} where state = 'open'`);
    database.close();
    expect(await said(start('turn-3'))).toMatchObject({ allowed: false, reason: expect.stringContaining('no answer') });
    expect(ran()).toBe(0);
  });

  it('a new turn withdraws the answer given after the crash', async () => {
    const first = start('turn-1');
    const [question] = await openOnes(1);
    await kill(first);
    await rig.questions.answer(question?.id ?? '', allow, shell);
    expect(await rig.questions.withdraw(session.parts, 'a new turn')).toBe(1);
    expect(await said(start('turn-1', 500))).toMatchObject({ allowed: false });
    expect(ran()).toBe(0);
  });
});
