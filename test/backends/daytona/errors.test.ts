import { expect, it } from 'vitest';
import { accountIn } from '../../../src/backends/daytona/account.ts';
import { sshAccessIn } from '../../../src/backends/daytona/api-answers.ts';
import type { HermeticError } from '../../../src/core/errors.ts';
import type { Fault } from '../../fakes/daytona/cloud.ts';
import { describeNeeding } from '../../needs.ts';
import { quietly, startDaytona, wishFor } from './rig.ts';

const refusal = (status: number, message: string, headers?: Record<string, string>): Fault => ({
  status,
  body: JSON.stringify({ statusCode: status, message }),
  ...(headers && { headers }),
});
const page: Fault = { status: 200, body: '<!doctype html><html><title>Sign in</title></html>', headers: { 'content-type': 'text/html' } };

it.each<[string, Fault, HermeticError['code'], RegExp]>([
  ['a key that is wrong', refusal(401, 'Unauthorized'), 'backend/not-permitted', /DAYTONA_API_KEY/],
  ['no credit', refusal(402, 'Payment required'), 'backend/not-permitted', /credit/],
  ['a suspended organization', refusal(403, 'Organization is suspended: Depleted credits'), 'backend/not-permitted', /dashboard/],
  ['a full quota', refusal(403, 'Total memory limit exceeded. Maximum allowed: 10GiB.'), 'sandbox/no-room', /Wait/],
  ['a sandbox that is too large', refusal(403, 'CPU request 8 exceeds maximum allowed per sandbox (4)'), 'backend/cannot-honour', /Lower/],
  ['a key without permissions', refusal(403, 'Forbidden resource'), 'backend/not-permitted', /write:sandboxes/],
  ['a region without room', refusal(400, 'No available runners'), 'sandbox/no-room', /daytona_target/],
  ['a sandbox that has expired', refusal(410, 'Gone'), 'sandbox/not-found', /^/],
  ['a conflict', refusal(409, 'Sandbox state change in progress'), 'sandbox/in-use', /^/],
  ['too many requests', refusal(429, 'ThrottlerException', { 'retry-after': '7' }), 'backend/not-running', /requests/],
  ['a fault of the service', { status: 503, body: 'upstream connect error' }, 'backend/not-running', /later/],
  ['a page of a proxy', { ...(page as object), status: 502 } as Fault, 'backend/not-running', /^/],
  ['a page with status 200', page, 'backend/unavailable', /DAYTONA_API_URL/],
  ['another server', { status: 302, body: '', headers: { location: 'http://127.0.0.1:1/' } }, 'backend/unavailable', /DAYTONA_API_URL/],
  ['half an answer', 'half', 'backend/not-running', /DAYTONA_API_URL/],
  ['no answer', 'cut', 'backend/not-running', /DAYTONA_API_URL/],
])('says in words what is wrong: %s', async (_, fault, code, hint) => {
  const { cloud, provider } = await startDaytona();
  cloud.fault = () => fault;
  const error = (await provider.account().catch((reason: unknown) => reason)) as HermeticError;
  expect(error).toMatchObject({ name: 'HermeticError', code });
  expect(error.hint ?? '').toMatch(hint);
  expect(JSON.stringify([error.message, error.hint, error.stack, error.cause])).not.toContain(cloud.apiKey);
  if (fault !== 'half' && fault !== 'cut') return;
  expect(error.retryAfterMs).toBeGreaterThan(0);
});

it('keeps to the time that the service asks for', async () => {
  const { cloud, provider } = await startDaytona();
  cloud.fault = () => refusal(429, 'ThrottlerException', { 'retry-after': '7' });
  await expect(provider.account()).rejects.toMatchObject({ retryAfterMs: 7_000 });
});

it('prints nothing of a server that a terminal would execute', async () => {
  const { cloud, provider } = await startDaytona();
  cloud.fault = () => refusal(418, '\u001b]0;owned\u0007\u001b[2J');
  const error = (await provider.account().catch((reason: unknown) => reason)) as HermeticError;
  expect(error.message).toMatch(/^[\x20-\x7e…␛␇\p{L}\p{S}]*$/u);
});

it('names the permission that an API key does not have', async () => {
  const { cloud, provider } = await startDaytona();
  expect(await provider.account()).toContain('"tests"');
  cloud.permissions = ['write:sandboxes'];
  await expect(provider.account()).rejects.toThrow(/may not delete:sandboxes/);
});

describeNeeding(['machines'], 'a sandbox at Daytona', () => {
  it('makes no sandbox that was refused twice, and leaves none', async () => {
    const { cloud, provider } = await startDaytona();
    cloud.maxSandboxes = 1;
    await provider.create(wishFor(), quietly);
    await expect(provider.create(wishFor(), quietly)).rejects.toMatchObject({ code: 'sandbox/no-room', retryAfterMs: 10_000 });
    expect(cloud.left).toHaveLength(1);
  });

  it('waits while the service is down for a moment, and starts a sandbox once', async () => {
    const { cloud, provider } = await startDaytona();
    const reference = await provider.create(wishFor(), quietly);
    await provider.stop(reference);
    let faults = 3;
    cloud.fault = ({ method }) => (method === 'GET' && faults-- > 0 ? 'cut' : undefined);
    expect(await provider.resume(reference, wishFor(), quietly)).toBe(reference);
    expect(cloud.calls.filter(({ path }) => path.endsWith('/start'))).toHaveLength(1);
  });

  it('says why a sandbox has failed at Daytona and keeps it, unless Daytona can bring it back', async () => {
    const { cloud, provider } = await startDaytona();
    const reference = await provider.create(wishFor(), quietly);
    await provider.stop(reference);
    const sandbox = cloud.sandboxes.get(reference);
    if (!sandbox) throw new Error('there is no sandbox');
    Object.assign(sandbox, { state: 'error', errorReason: 'no space left on device' });
    expect(await provider.state(reference)).toBe('stopped');
    await expect(provider.resume(reference, wishFor(), quietly)).rejects.toThrow(/no space left on device/);
    expect(cloud.left).toHaveLength(1);
    sandbox.isRecoverable = true;
    expect(await provider.resume(reference, wishFor(), quietly)).toBe(reference);
    expect(await provider.state(reference)).toBe('running');
  });

  it('does not guess when Daytona does not know the state of a sandbox', async () => {
    const { cloud, provider } = await startDaytona();
    const reference = await provider.create(wishFor(), quietly);
    Object.assign(cloud.sandboxes.get(reference) ?? {}, { state: 'of-a-newer-version' });
    await expect(provider.state(reference)).rejects.toMatchObject({ code: 'backend/not-running' });
  });
});

it('sends the key only to an address that keeps it secret', () => {
  const at = (DAYTONA_API_URL: string) => accountIn({ DAYTONA_API_KEY: 'key', DAYTONA_API_URL }).url;
  expect(accountIn({ DAYTONA_API_KEY: 'key' }).url).toBe('https://app.daytona.io/api');
  expect([at('https://daytona.example/api/'), at('http://127.0.0.1:3000/api'), at('http://[::1]/api')]).toHaveLength(3);
  for (const url of [
    'http://daytona.example/api',
    'https://user:word@daytona.example/api',
    'ftp://127.0.0.1/',
    'none',
    'http://127.0.0.1.example/',
  ])
    expect(() => at(url)).toThrow(/DAYTONA_API_URL/);
  expect(() => accountIn({})).toThrow(/DAYTONA_API_KEY is not set/);
});

it.each<[string, unknown, object | undefined]>([
  ['a port', 'ssh -p 2222 TOKEN@ssh.example', { host: 'ssh.example', port: 2222 }],
  ['no port', 'ssh TOKEN@ssh.app.daytona.io', { host: 'ssh.app.daytona.io', port: 22 }],
  ['the port behind it', 'ssh TOKEN@ssh.example -p 2222', { host: 'ssh.example', port: 2222 }],
  ['an option of ssh', 'ssh -oProxyCommand=evil TOKEN@ssh.example', undefined],
  ['another token', 'ssh OTHER@ssh.example', undefined],
  ['nothing', undefined, undefined],
])('reads the way in from the command that the API names: with %s', (_, sshCommand, expected) => {
  const token = 'a0b1c2d3e4f5';
  const answer = { token, sshCommand: typeof sshCommand === 'string' ? sshCommand.replace('TOKEN', token) : sshCommand };
  expect(sshAccessIn(answer, undefined)).toEqual(expected && { ...expected, user: token, isToken: true });
  expect(sshAccessIn(answer, { host: 'own.example', port: 2222 })).toMatchObject({ host: 'own.example' });
  expect(sshAccessIn({ ...answer, token: '-oProxyCommand=evil' }, { host: 'own.example', port: 2222 })).toBeUndefined();
});
