import { describe, expect, it } from 'vitest';
import { ModalAccess } from '../../../src/backends/modal/access.ts';
import { HermeticError } from '../../../src/core/errors.ts';
import type { Fault } from '../../fakes/modal/wire.ts';
import { describeNeeding, itNeeding } from '../../needs.ts';
import { until } from '../../until.ts';
import { providerOf, quietly, run, startModal, wishFor } from './rig.ts';

const { fake, provider } = await startModal();

async function refusalOf(work: Promise<unknown>): Promise<HermeticError> {
  const error = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!(error instanceof HermeticError)) throw new Error('it was not refused in words', { cause: error });
  return error;
}

describe('an answer of Modal that is no success', () => {
  it.each<[string, Fault, Partial<HermeticError>]>([
    ['a token that has expired', { status: 16, message: 'Token has expired' }, { code: 'backend/not-permitted' }],
    ['a spend limit', { status: 8, message: 'Workspace spend limit reached' }, { code: 'backend/not-permitted' }],
    ['a missing right', { status: 7, message: 'not allowed in this environment' }, { code: 'backend/not-permitted' }],
    ['a quota', { status: 8, message: 'Too many sandboxes' }, { code: 'sandbox/no-room', retryAfterMs: 15_000 }],
    ['settings that it does not sell', { status: 3, message: 'memory is out of range' }, { code: 'backend/cannot-honour' }],
    ['an unknown environment', { status: 5, message: "Environment 'x' not found" }, { code: 'backend/unavailable' }],
    ['an outage', { status: 14, message: 'try again' }, { code: 'backend/not-running' }],
    ['an error of its own', { status: 13, message: 'oh no' }, { code: 'backend/not-running' }],
    ['an unknown status', { status: 11, message: 'out of range' }, { code: 'sandbox/open-failed' }],
    ['a page of a proxy', 'html', { code: 'backend/not-running' }],
    ['a cut connection', 'cut', { code: 'backend/not-running' }],
  ])('is told in words for %s, and leaves nothing', async (_, fault, expected) => await isTold(fault, expected));

  // The fake makes the sandbox before its answer is garbled.
  itNeeding(['machines'], 'is told in words for no message of its protocol, and leaves nothing', async () => {
    await isTold('garbage', { code: 'backend/unavailable' });
  });

  async function isTold(fault: Fault, expected: object): Promise<void> {
    fake.control.calls.length = 0;
    fake.control.fail('SandboxCreateV2', fault);
    const refusal = await refusalOf(provider.create(wishFor(), quietly));
    fake.control.heal();
    expect(refusal).toMatchObject(expected);
    if (typeof fault === 'object') expect(refusal.message).toBe(`Modal refused: ${fault.message}`);
    expect(refusal.hint ?? '').not.toContain(fake.tokenSecret);
    expect(fake.running).toEqual([]);
    expect(fake.control.calls.filter(({ name }) => name === 'SandboxCreateV2').length).toBe(1);
  }

  it('is shown without what a terminal obeys', async () => {
    fake.control.fail('TokenInfoGet', { status: 7, message: 'no\u001b[2J\u001b]0;owned\u0007\nline\u202e' });
    const { message } = await refusalOf(provider.account());
    fake.control.heal();
    expect(message).toBe('Modal refused: no [2J ]0;owned line');
  });

  it('is the end of a sandbox only when Modal says so', async () => {
    expect(await provider.state('sb-unknown')).toBe('gone');
    fake.control.fail('SandboxWaitV2', { status: 7, message: 'not now' });
    expect(await refusalOf(provider.state('sb-unknown'))).toMatchObject({ code: 'backend/not-permitted' });
    fake.control.heal();
  });
});

describe('a Modal that says nothing', () => {
  it('is given up after a time, in words', async () => {
    fake.control.fail('TokenInfoGet', 'silence');
    const access = new ModalAccess(fake.environment);
    const asking = access.call({ ms: 300 }, ({ cpClient }, signal) => cpClient.tokenInfoGet({}, { signal }));
    expect(await refusalOf(asking)).toMatchObject({ code: 'backend/not-running', message: 'Modal did not answer within 0.3 s.' });
    fake.control.heal();
  });

  it('is told from one that is not there', async () => {
    const nowhere = providerOf({ ...fake.environment, MODAL_SERVER_URL: 'http://127.0.0.1:1' });
    expect(await refusalOf(nowhere.account())).toMatchObject({ code: 'backend/not-running' });
  });
});

describe('credentials of Modal', () => {
  it('are asked for when they are missing', async () => {
    expect(await refusalOf(providerOf({}).account())).toMatchObject({
      code: 'backend/not-permitted',
      hint: expect.stringContaining('MODAL_TOKEN_ID'),
    });
  });

  it('are told to be wrong, and are not shown', async () => {
    const wrong = { ...fake.environment, MODAL_TOKEN_SECRET: 'as-very-secret' };
    const refusal = await refusalOf(providerOf(wrong).account());
    expect(refusal).toMatchObject({ code: 'backend/not-permitted' });
    expect(JSON.stringify([refusal.message, refusal.hint])).not.toContain('as-very-secret');
  });

  it.each(['http://example.org', 'file:///etc', 'nonsense'])('are not sent to %s', async (MODAL_SERVER_URL) => {
    expect(await refusalOf(providerOf({ ...fake.environment, MODAL_SERVER_URL }).account())).toMatchObject({ code: 'backend/unavailable' });
  });

  it('come from the settings alone, and not from the environment of the program', async () => {
    const others = {
      MODAL_SERVER_URL: 'http://127.0.0.1:1',
      MODAL_TOKEN_ID: 'ak-other',
      MODAL_ENVIRONMENT: 'other',
      MODAL_SANDBOX_V2: '0',
    };
    Object.assign(process.env, others);
    try {
      fake.control.calls.length = 0;
      expect(await providerOf(fake.environment).account()).toBe('workspace test-workspace at Modal, app hermetic');
      expect(fake.control.calls.at(-1)?.headers).toMatchObject({
        'x-modal-token-id': fake.tokenId,
        'x-modal-token-secret': fake.tokenSecret,
      });
    } finally {
      for (const name of Object.keys(others)) Reflect.deleteProperty(process.env, name);
    }
  });

  it('name the workspace and the app', async () => {
    expect(await provider.account()).toBe('workspace test-workspace at Modal, app hermetic');
  });
});

describeNeeding(['machines'], 'a connection to a sandbox of Modal that is cut', () => {
  it('starts no command twice when the answer to its start is lost', async () => {
    const reference = await provider.create(wishFor(), quietly);
    const attach = provider.attach(reference);
    fake.worker.fail('TaskExecStart', 'cut', 1);
    const { stdout } = await run(attach, 'echo once >>/workspace/times; cat /workspace/times');
    expect(stdout.toString()).toBe('once\n');
    await provider.remove(reference);
  });

  it('loses and repeats no byte of input and output', async () => {
    const reference = await provider.create(wishFor(), quietly);
    const command = await provider.attach(reference)(['bash', '-c', 'read -r line; echo "$line"; seq 200000; cat']);
    fake.worker.fail('TaskExecStdinWrite', 'cut', 1);
    command.stdin.write('first\n');
    let text = '';
    for await (const chunk of command.stdout) {
      const before = text.length;
      text += String(chunk);
      if (Math.floor(before / 200_000) !== Math.floor(text.length / 200_000)) fake.worker.cut();
      if (text.endsWith('200000\n')) command.stdin.end('last\n');
    }
    const numbers = Array.from({ length: 200_000 }, (_, index) => index + 1).join('\n');
    expect(text === `first\n${numbers}\nlast\n`).toBe(true);
    expect(await command.exitCode()).toBe(0);
    await provider.remove(reference);
  });

  it('fails the output with words when it cannot be taken up again', async () => {
    const reference = await provider.create(wishFor(), quietly);
    const command = await provider.attach(reference)(['bash', '-c', 'echo begun; cat']);
    const [begun] = (await new Promise((resolve) => command.stdout.once('data', (data) => resolve([data])))) as [Buffer];
    expect(begun.toString()).toBe('begun\n');
    fake.worker.fail('TaskExecStdioRead', { status: 5, message: 'the worker has gone' });
    fake.worker.cut();
    const failure = await new Promise<Error>((resolve) => command.stdout.on('error', resolve));
    expect(failure).toMatchObject({ code: 'sandbox/lost', message: expect.stringContaining('the worker has gone') });
    fake.worker.heal();
    await provider.remove(reference);
  });

  it('gives no exit code for an end that is none', async () => {
    const reference = await provider.create(wishFor(), quietly);
    const attach = provider.attach(reference);
    fake.worker.fail('TaskExecWait', { status: 5, message: 'no such process' });
    expect((await run(attach, 'exit 0')).code).toBeUndefined();
    fake.worker.heal();
    fake.exitCode = -1;
    expect((await run(attach, 'exit 0')).code).toBeUndefined();
    fake.exitCode = undefined;
    await provider.remove(reference);
    await until('nothing runs', () => fake.running.length === 0);
  });
});
