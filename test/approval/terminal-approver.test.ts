import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { questionText } from '../../src/approval/question-text.ts';
import { answerIn, terminalApprover } from '../../src/approval/terminal-approver.ts';
import type { Question } from '../../src/core/approval.ts';
import { until } from '../until.ts';
import { command } from './calls.ts';

const now = new Date(1_700_000_000_000);
const question = (text: string): Question => ({
  id: 'id',
  code: 'BCD234',
  session: 'work',
  sandbox: 'abc',
  backend: 'local',
  actions: [command(text)],
  findings: [{ rule: 'files/recursive-delete', title: 'Deletes many files', why: 'They are gone.', program: 'rm' }],
  askedAt: now,
  expiresAt: now,
});

function terminal() {
  const input = new PassThrough();
  const output = new PassThrough();
  let shown = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  return { input, shown: () => shown, approver: terminalApprover({ input, output, by: 'ada' }) };
}
const never = new AbortController().signal;

describe('the question as shown', () => {
  it('shows control and invisible characters of a command as code points, and each of its lines as quoted', () => {
    const hostile = 'echo ok \u001b[2K\u001b]0;title\u0007\r\u202e\u200b\u00a0\u2028\nMay this run on docker? (harmless)\n\u009b1A';
    const text = questionText({ ...question(hostile), session: 'a\u001b[31m\nb' });
    expect(text).not.toMatch(/[^\P{C}\n\t]|[\u2028\u00a0]/u);
    for (const number of ['001B', '0007', '000D', '202E', '200B', '00A0', '2028', '009B']) expect(text).toContain(`⟨U+${number}⟩`);
    expect(text).toContain('  | May this run on docker? (harmless)');
    expect(text.split('\n').filter((line) => line.startsWith('May this run'))).toHaveLength(1);
  });

  it('shows the target of each finding on one line of its own', () => {
    const [finding] = question('').findings;
    if (!finding) throw new Error('no finding');
    const findings = [
      { ...finding, target: 'build' },
      { ...finding, target: '/etc\n! Nothing\u200b' },
      { ...finding, program: undefined, target: 'origin' },
    ];
    expect(questionText({ ...question('rm -r build'), findings }).split('\n')).toEqual(
      expect.arrayContaining([
        '  ! Deletes many files (rm: build): They are gone.',
        '  ! Deletes many files (rm: /etc⟨U+000A⟩! Nothing⟨U+200B⟩): They are gone.',
        '  ! Deletes many files (origin): They are gone.',
      ]),
    );
  });

  it('shows the end of a command after many blank lines', () => {
    expect(
      questionText(question(`ls${'\n'.repeat(42)}rm -rf x`))
        .split('\n')
        .slice(-5),
    ).toEqual([...['In /work:', '  | ls', '  (41 blank lines)', '  | rm -rf x', '']]);
  });

  it('shows a long command uncut', () => {
    const long = Array.from({ length: 2_000 }, (_, index) => `echo line ${index}`).join('\n');
    expect(
      questionText(question(long))
        .split('\n')
        .filter((line) => /echo line \d+$/.test(line)),
    ).toHaveLength(2_000);
  });
});

describe('the answer as typed', () => {
  it.each([
    ['o', { kind: 'once' }],
    [' Once ', { kind: 'once' }],
    ['s', { kind: 'session' }],
    ['always', { kind: 'always' }],
    ['a 30d', { kind: 'always', expiresAt: new Date(now.getTime() + 30 * 86_400_000) }],
    ['', { kind: 'deny' }],
    ['d use make clean', { kind: 'deny', remark: 'use make clean' }],
    ['no', { kind: 'deny' }],
  ])('reads %j as an answer', (line, answer) => {
    expect(answerIn(line, 'ada', now)).toEqual({ by: 'ada', ...answer });
  });

  it.each(['y', 'yes', 'ok', 'once more', 'a 3 weeks', 'session always', 'denya'])('reads %j as no answer', (line) => {
    expect(answerIn(line, 'ada', now)).toBeUndefined();
  });

  it('returns the answer typed below the question', async () => {
    const { input, shown, approver } = terminal();
    const asking = approver.ask(question('rm -rf build'), never);
    await until('it asks', () => shown().includes('d deny'));
    expect(shown()).toContain('Deletes many files');
    input.write('s\r');
    expect(await asking).toEqual({ kind: 'session', by: 'ada' });
  });

  it('asks three times for an answer it can read, and then denies', async () => {
    const { input, shown, approver } = terminal();
    const asking = approver.ask(question('rm -rf build'), never);
    for (let attempt = 1; attempt <= 3; attempt++) {
      await until('it asks', () => shown().split('d deny').length > attempt);
      input.write('yes\r');
    }
    expect(await asking).toEqual({ kind: 'deny', by: 'ada' });
  });

  it.each([
    ['Ctrl-C', (input: PassThrough) => input.write('\u0003')],
    ['Ctrl-D', (input: PassThrough) => input.write('\u0004')],
    ['the end of the input', (input: PassThrough) => input.end()],
  ])('%s denies', async (_case, act) => {
    const { input, shown, approver } = terminal();
    const asking = approver.ask(question('rm -rf build'), never);
    await until('it asks', () => shown().includes('d deny'));
    act(input);
    expect(await asking).toEqual({ kind: 'deny', by: 'ada' });
  });

  it('takes one answer after the other for several questions', async () => {
    const { input, shown, approver } = terminal();
    const both = [approver.ask(question('rm -rf first'), never), approver.ask(question('rm -rf second'), never)];
    await until('it asks', () => shown().includes('first'));
    expect(shown()).not.toContain('second');
    input.write('o\r');
    await until('it asks again', () => /second[\s\S]*d deny/.test(shown()));
    input.write('d\r');
    expect(await Promise.all(both)).toMatchObject([{ kind: 'once' }, { kind: 'deny' }]);
  });

  it('stops waiting when the question was settled elsewhere', async () => {
    const { shown, approver } = terminal();
    const controller = new AbortController();
    const asking = approver.ask(question('rm -rf build'), controller.signal);
    await until('it asks', () => shown().includes('d deny'));
    controller.abort();
    expect(await asking).toBeUndefined();
  });
});
