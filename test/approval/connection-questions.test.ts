import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ConnectingCall, ConnectionQuestions } from '../../src/approval/connection-questions.ts';
import type { GuardOptions } from '../../src/approval/guard.ts';
import { questionText } from '../../src/approval/question-text.ts';
import type { Answer, CallOrigin, Question } from '../../src/core/approval.ts';
import type { ConnectionAnswer } from '../../src/core/egress.ts';
import { until } from '../until.ts';
import { session } from './calls.ts';
import { guardRigs, Person, type Rig, says, silent } from './guard-rig.ts';

const newRig = guardRigs();
let rig: Rig;
let questions: ConnectionQuestions;
let isAsking = true;

beforeEach(async () => {
  rig = await newRig();
  isAsking = true;
  questions = questionsWith();
});

const questionsWith = (options: Partial<GuardOptions> = {}): ConnectionQuestions =>
  new ConnectionQuestions({ guard: rig.guard(options), isAsking: () => isAsking });

const callBy = (approver: Person | undefined, origin: Partial<CallOrigin> = {}, command = 'curl https://api.example'): ConnectingCall => ({
  command,
  cwd: '/work',
  origin: { source: 'chat', role: 'user', approver, person: 'telegram:7', turn: 'turn-1', run: 'turn-1/call-1', ...origin },
  signal: new AbortController().signal,
});

const here = new AbortController().signal;
const wants = (call: ConnectingCall, host: string, { port = 443, left = here, isCheck = false } = {}): Promise<ConnectionAnswer> =>
  questions.askerFor(call)({ host, port, program: 'curl' }, { left, isCheck });

const once = expect.objectContaining({ allowed: true, until: 'command-ends' });
const lasting = expect.objectContaining({ allowed: true, until: 'revoked' });
const unlisted = { allowed: false, reason: 'unlisted' };
const refusedByAda = { allowed: false, reason: 'refused', by: 'ada' };

/** Answers when it is told to. */
class SlowPerson extends Person {
  readonly #answer = Promise.withResolvers<Answer | undefined>();

  constructor() {
    super(async () => await this.#answer.promise);
  }

  say(kind: Answer['kind']): void {
    this.#answer.resolve({ kind, by: 'ada' } as Answer);
  }

  async isAsked(count = 1): Promise<readonly Question[]> {
    await until(`${count} questions`, () => this.asked.length >= count);
    return this.asked;
  }
}

describe('a question about a host', () => {
  it('names the host, the port, the program and the command, and says that the program is a claim', async () => {
    const person = says('once');
    expect(await wants(callBy(person), 'api.example')).toEqual(once);
    const [question] = person.asked;
    expect(question).toMatchObject({
      findings: [{ rule: 'network/unlisted-host', program: 'api.example:443' }],
      actions: [{ kind: 'connect', command: 'curl https://api.example' }],
    });
    const text = questionText(question as Question);
    expect(text).toContain('May this connect from local, in session chat 1?');
    expect(text).toContain('(api.example:443)');
    expect(text).toContain('api.example:443 is wanted by "curl", as the sandbox says.');
    expect(text).toContain('curl https://api.example');
  });

  it('cannot be imitated by the name of a program or by the text of a command', async () => {
    const person = says('deny');
    const call = callBy(person, {}, 'true\nMay this connect from local, in session chat 1? (AAAAAA)\n  ! harmless');
    await questions.askerFor(call)(
      { host: 'evil.example', port: 443, program: 'curl", as Ada says.\nAllow it\u202e' },
      { left: here, isCheck: false },
    );
    const lines = questionText(person.asked[0] as Question).split('\n');
    expect(lines.filter((line) => line.startsWith('May this'))).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith('  !'))).toHaveLength(1);
    expect(lines.some((line) => line.startsWith('Allow it'))).toBe(false);
    expect(lines.join('\n')).not.toContain('\u202e');
  });

  it('is in the log without a secret that the name of the host carries', async () => {
    await wants(callBy(says('deny')), 'hunter2.evil.example');
    await rig.recorder.settled();
    const records = JSON.stringify(await rig.records());
    expect(records).toContain('[redacted].evil.example');
    expect(records).not.toContain('hunter2');
  });

  it('gathers the hosts that one command wants at the same time', async () => {
    const person = says('session');
    const call = callBy(person);
    const hosts = Array.from({ length: 8 }, (_, index) => `host-${index}.example`);
    expect(await Promise.all(hosts.map((host) => wants(call, host)))).toEqual(hosts.map(() => lasting));
    expect(person.asked.map(({ findings }) => findings.length)).toEqual([8]);
  });

  it('is asked once for all connections that wait for the same host', async () => {
    const person = new SlowPerson();
    const call = callBy(person);
    const first = wants(call, 'api.example');
    await person.isAsked();
    const more = [wants(call, 'api.example'), wants(call, 'api.example')];
    person.say('once');
    expect(await Promise.all([first, ...more])).toEqual([once, once, once]);
    expect(person.asked).toHaveLength(1);
  });
});

/** A person says once, after the program has stopped waiting. */
async function allowTooLate(host: string): Promise<void> {
  const person = new SlowPerson();
  const left = new AbortController();
  const asking = wants(callBy(person), host, { left: left.signal });
  await person.isAsked();
  left.abort();
  person.say('once');
  expect(await asking).toEqual({ allowed: false, reason: 'not-awaited' });
}

describe('a yes to a host', () => {
  it('for one time does not cover another command that waits for the same host', async () => {
    const first = new SlowPerson();
    const second = says('deny');
    const one = wants(callBy(first), 'api.example');
    await first.isAsked();
    const other = wants(callBy(second, { run: 'turn-1/call-2' }, 'wget https://api.example'), 'api.example');
    first.say('once');
    expect(await one).toEqual(once);
    expect(await other).toEqual(refusedByAda);
    expect(second.asked).toHaveLength(1);
  });

  it('for the session or always does not cover another person whose command waits for the same host', async () => {
    for (const [turn, kind] of [
      ['turn-1', 'session'],
      ['turn-2', 'always'],
    ] as const) {
      const [first, second] = [new SlowPerson(), says('deny')];
      const host = `${kind}.example`;
      const one = wants(callBy(first, { turn }), host);
      await first.isAsked();
      const other = wants(callBy(second, { turn: `${turn}-other`, person: 'telegram:8' }), host);
      first.say(kind);
      expect(await one).toEqual(lasting);
      expect(await other).toEqual(refusedByAda);
      expect(second.asked).toHaveLength(1);
    }
  });

  it('for the session covers another command of the same person that waits for the same host', async () => {
    const [first, second] = [new SlowPerson(), says('deny')];
    const one = wants(callBy(first), 'api.example');
    await first.isAsked();
    const other = wants(callBy(second, { turn: 'turn-2' }), 'api.example');
    first.say('session');
    expect(await Promise.all([one, other])).toEqual([lasting, lasting]);
    expect(second.asked).toEqual([]);
  });

  it('for the session covers the next commands of the person there, and no other session or person', async () => {
    expect(await wants(callBy(says('session')), 'api.example')).toEqual(lasting);
    const nobody = says('deny');
    expect(await wants(callBy(nobody, { turn: 'turn-2' }), 'api.example')).toEqual(lasting);
    expect(nobody.asked).toEqual([]);
    expect(await wants(callBy(nobody, { turn: 'turn-3', person: 'telegram:8' }), 'api.example')).toEqual(refusedByAda);
    questions = questionsWith({ session: { parts: ['chat', '2'], title: 'chat 2' } });
    expect(await wants(callBy(says('deny')), 'api.example')).toEqual(refusedByAda);
  });

  it('for always covers other sessions of the person and no other person', async () => {
    expect(await wants(callBy(says('always')), 'api.example')).toEqual(lasting);
    questions = questionsWith({ session: { parts: ['chat', '2'], title: 'chat 2' } });
    expect(await wants(callBy(says('deny')), 'api.example')).toEqual(lasting);
    expect(await wants(callBy(says('deny'), { person: 'telegram:8', turn: 'turn-2' }), 'api.example')).toEqual(refusedByAda);
  });

  it('covers neither another port nor another host', async () => {
    expect(await wants(callBy(says('session')), 'api.example')).toEqual(lasting);
    expect(await wants(callBy(undefined), 'api.example', { port: 8443 })).toEqual(unlisted);
    expect(await wants(callBy(undefined), 'www.api.example')).toEqual(unlisted);
    expect(await wants(callBy(undefined), 'api.example')).toEqual(lasting);
  });

  it('that was revoked no longer counts, also for a check without people', async () => {
    const call = callBy(says('session'));
    expect(await wants(call, 'api.example')).toEqual(lasting);
    expect(await wants(call, 'api.example', { isCheck: true })).toEqual(lasting);
    await rig.store.grants.endSession(session.parts, new Date(), []);
    expect(await wants(call, 'api.example', { isCheck: true })).toEqual(unlisted);
  });

  it('that comes after the program has left counts for the next command of the turn, once', async () => {
    await allowTooLate('api.example');
    const nobody = says('deny');
    expect(await wants(callBy(nobody, { run: 'turn-1/call-2' }), 'api.example')).toEqual(once);
    expect(nobody.asked).toEqual([]);
    expect(await wants(callBy(nobody, { run: 'turn-1/call-3' }), 'api.example')).toEqual(refusedByAda);
  });

  it('that comes after the program has left is worth nothing in another turn', async () => {
    await allowTooLate('api.example');
    expect(await wants(callBy(says('deny'), { turn: 'turn-2' }), 'api.example')).toEqual(refusedByAda);
  });

  it('by a grant is in the log once for each call', async () => {
    await wants(callBy(says('session')), 'api.example');
    const before = (await rig.records()).length;
    const call = callBy(undefined);
    for (let time = 0; time < 3; time++) await wants(call, 'api.example');
    await rig.recorder.settled();
    expect((await rig.records()).slice(before)).toMatchObject([{ kind: 'judgement', outcome: 'allowed', what: { why: 'grant' } }]);
  });
});

describe('a host that is not allowed', () => {
  it('is not asked about again in the turn, nor is the rest of its parent domain', async () => {
    const person = says('deny');
    expect(await wants(callBy(person), 'a.evil.example')).toEqual(refusedByAda);
    for (const host of ['a.evil.example', 'b.evil.example', 'x.a.evil.example', 'evil.example']) {
      expect(await wants(callBy(person), host)).toEqual(refusedByAda);
    }
    expect(person.asked).toHaveLength(1);
    await wants(callBy(person), 'other.example');
    await wants(callBy(person, { turn: 'turn-2', run: 'turn-2/call-1' }), 'a.evil.example');
    expect(person.asked).toHaveLength(3);
  });

  it('is refused when no answer comes in time', async () => {
    questions = questionsWith({ timeoutMs: 50 });
    expect(await wants(callBy(silent()), 'api.example')).toEqual({ allowed: false, reason: 'unanswered' });
  });

  it('is refused at once where there is no person to ask, and where asking is off', async () => {
    expect(await wants(callBy(undefined), 'api.example')).toEqual(unlisted);
    const person = says('once');
    expect(await wants(callBy(person, { source: 'cron' }), 'api.example')).toEqual(unlisted);
    isAsking = false;
    expect(await wants(callBy(person), 'api.example')).toEqual(unlisted);
    expect(person.asked).toEqual([]);
  });

  it.each(['off', 'smart'] as const)('is asked about in the mode %s as well', async (mode) => {
    const person = says('deny');
    const reviewer = async () => 'low-risk' as const;
    questions = questionsWith({ mode, reviewer });
    expect(await wants(callBy(person), 'api.example')).toEqual(refusedByAda);
    expect(person.asked).toHaveLength(1);
  });

  it('is asked about although an admin has turned approvals off', async () => {
    await rig.store.modes.setYolo(session.parts, { by: 'telegram:7', since: new Date() }, []);
    const person = says('deny');
    expect(await wants(callBy(person, { role: 'admin' }), 'api.example')).toEqual(refusedByAda);
    const typed = { role: 'admin', isTyped: true, turn: 'turn-2', run: 'turn-2/call-1' } as const;
    expect(await wants(callBy(person, typed), 'api.example')).toEqual(refusedByAda);
    expect(person.asked).toHaveLength(2);
  });

  it('stays blocked when the question cannot be stored', async () => {
    await rig.store.close();
    expect(await wants(callBy(says('once')), 'api.example')).toEqual(unlisted);
  });
});

describe('a question about a host that is withdrawn', () => {
  it('before it is asked is never shown', async () => {
    const controller = new AbortController();
    const person = silent();
    const answer = wants({ ...callBy(person), signal: controller.signal }, 'api.example');
    await sleep(200);
    controller.abort();
    expect(await answer).toEqual(unlisted);
    expect(person.asked).toEqual([]);
    expect(await rig.store.approvals.list({ session: session.parts })).toEqual([]);
  });

  it('with its command is asked again for another command that waits for the same host', async () => {
    const controller = new AbortController();
    const [first, second] = [silent(), says('once')];
    const one = wants({ ...callBy(first), signal: controller.signal }, 'api.example');
    await until('the first question', () => first.asked.length > 0);
    const other = wants(callBy(second, { run: 'turn-1/call-2' }), 'api.example');
    controller.abort();
    expect(await one).toEqual(unlisted);
    expect(await other).toEqual(once);
  });
});

describe('many hosts that no rule names', () => {
  it('become at most three open questions of a session', async () => {
    const people = Array.from({ length: 5 }, () => new SlowPerson());
    const answers = people.map((person, index) => wants(callBy(person, { run: `turn-1/call-${index}` }), `host-${index}.example`));
    for (const person of people.slice(0, 3)) await person.isAsked();
    expect(await Promise.all(answers.slice(3))).toEqual([
      { allowed: false, reason: 'too-many-questions' },
      { allowed: false, reason: 'too-many-questions' },
    ]);
    for (const person of people) person.say('once');
    expect(await Promise.all(answers.slice(0, 3))).toEqual([once, once, once]);
  });

  it('become at most ten questions in a turn', async () => {
    const person = says('once');
    const answers: ConnectionAnswer[] = [];
    for (let index = 0; index < 12; index++) answers.push(await wants(callBy(person), `host.number-${index}.example`));
    expect(person.asked).toHaveLength(10);
    expect(answers.slice(10)).toEqual(Array(2).fill({ allowed: false, reason: 'too-many-questions' }));
    expect(await wants(callBy(person, { turn: 'turn-2' }), 'next.example')).toEqual(once);
  });

  it('from one command at once are at most three cards of eight hosts', async () => {
    const person = new SlowPerson();
    const call = callBy(person);
    const answers = Array.from({ length: 1_000 }, (_, index) => wants(call, `h${index}.number-${index}.example`));
    await person.isAsked(3);
    person.say('deny');
    const settled = await Promise.all(answers);
    expect(person.asked.map(({ findings }) => findings.length)).toEqual([8, 8, 8]);
    expect(settled.filter((answer) => !answer.allowed && answer.reason === 'too-many-questions')).toHaveLength(1_000 - 24);
  });
});
