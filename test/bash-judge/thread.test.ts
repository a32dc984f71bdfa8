import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import { JudgeThread } from '../../src/bash-judge/index.ts';
import { judge as judgeHere } from '../../src/bash-judge/judge.ts';
import type { JudgedAction } from '../../src/core/approval.ts';
import { cwd, local } from './corpus.ts';

const command = (text: string): JudgedAction => ({ kind: 'command', command: text, cwd });
const tooComplex = { kind: 'ask', findings: [{ rule: 'shell/too-complex' }] };

describe('the judge thread', () => {
  it('returns the verdicts of the judge, with the rows of the owner', async () => {
    let programs = {};
    const judge = new JudgeThread({ programs: () => programs, deadlineMs: 60_000 });
    expect(await judge.judge(command('ls -la'), local)).toEqual({ kind: 'allow' });
    expect(await judge.judge(command('rm -rf /'), local)).toMatchObject({ kind: 'deny' });
    expect(await judge.judge(command('mytool'), local)).toMatchObject({ kind: 'ask' });
    programs = { mytool: {} };
    expect(await judge.judge(command('mytool'), local)).toEqual({ kind: 'allow' });
  });

  it('asks when no verdict comes in time, and judges the next action', async () => {
    const late = new JudgeThread({ deadlineMs: 0 });
    expect(await late.judge(command('case a in b) ls;; esac;'.repeat(2_500)), local)).toMatchObject(tooComplex);
    const judge = new JudgeThread({ deadlineMs: 60_000 });
    expect(await judge.judge(command('ls'), local)).toEqual({ kind: 'allow' });
  });

  it('counts the time of the thread alone, so that a busy machine does not make it ask', async () => {
    const text = 'ls -la /workspace; '.repeat(3_000);
    const before = process.threadCpuUsage();
    const verdict = judgeHere(command(text), local, {});
    const { user, system } = process.threadCpuUsage(before);
    const busy = Array.from({ length: 8 * availableParallelism() }, () => spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }));
    onTestFinished(() => {
      for (const child of busy) child.kill('SIGKILL');
    });
    const judge = new JudgeThread({ deadlineMs: (4 * (user + system)) / 1_000 });
    expect(await judge.judge(command('ls'), local)).toEqual({ kind: 'allow' });
    expect(await judge.judge(command(text), local)).toEqual(verdict);
  });

  it('asks when the thread crashes, and judges the next action in a new one', async () => {
    const judge = new JudgeThread({ deadlineMs: 60_000 });
    expect(await judge.judge({ kind: 'command', command: () => 'ls', cwd } as unknown as JudgedAction, local)).toMatchObject(tooComplex);
    expect(await judge.judge(command('ls'), local)).toEqual({ kind: 'allow' });
  });

  it('judges many actions at once', async () => {
    const judge = new JudgeThread({ deadlineMs: 60_000 });
    const verdicts = await Promise.all(['ls', 'rm -rf /', 'pwd', 'mytool'].map((text) => judge.judge(command(text), local)));
    expect(verdicts.map(({ kind }) => kind)).toEqual(['allow', 'deny', 'allow', 'ask']);
  });

  it("judges another session's command after at most one of a session that has many", async () => {
    const judge = new JudgeThread();
    const answered: string[] = [];
    const note = async (session: string, text: string): Promise<void> => {
      await judge.judge(command(text), { ...local, session });
      answered.push(session);
    };
    const slow = `set -- ${'x '.repeat(20_000)}; ${'echo "$@"; '.repeat(1_500)}`;
    const many = Array.from({ length: 10 }, () => note('many', slow));
    await Promise.all([...many, note('other', 'ls -la')]);
    expect(answered.indexOf('other')).toBeLessThanOrEqual(1);
    expect(answered).toHaveLength(11);
  });

  it('serves sessions with many commands in turn', async () => {
    const judge = new JudgeThread({ deadlineMs: 60_000 });
    const answered: string[] = [];
    const note = async (session: string): Promise<void> => {
      await judge.judge(command('ls -la'), { ...local, session });
      answered.push(session);
    };
    await Promise.all(['a', 'a', 'a', 'a', 'b', 'b', 'c'].map(note));
    expect(answered).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a']);
  });

  it('keeps the main thread free while it judges a complex command', async () => {
    const judge = new JudgeThread({ deadlineMs: 60_000 });
    let turns = 0;
    const count = setInterval(() => turns++, 1);
    const tangled = `x=${'a'.repeat(400)}; echo \${x##*a*a*a*a*a*b}; ${'cd a; cd -; pushd b; '.repeat(3_000)}`;
    await judge.judge(command('ls'), local);
    const before = turns;
    expect(await judge.judge(command(tangled), local)).toMatchObject({ kind: 'ask' });
    clearInterval(count);
    expect(turns).toBeGreaterThan(before);
  });

  it('allows everything in a disposable sandbox without the thread', async () => {
    const judge = new JudgeThread({ deadlineMs: 0 });
    expect(await judge.judge(command('rm -rf /'), { ...local, disposable: true })).toEqual({ kind: 'allow' });
  });
});
