import { afterEach, describe, expect, it } from 'vitest';
import { refusalError } from '../../../src/backends/vercel/api-errors.ts';
import { vercelCredentials } from '../../../src/backends/vercel/credentials.ts';
import { vercelOptions } from '../../../src/backends/vercel/options.ts';
import { VercelProvider } from '../../../src/backends/vercel/provider.ts';
import { startVercel } from './rig.ts';

const { fake, provider, providerWith } = await startVercel();

afterEach(() => void fake.faults.splice(0));

function answering(status: number, body: string, type = 'application/json'): void {
  fake.faults.push({ matches: /^/, answer: (response) => void response.writeHead(status, { 'content-type': type }).end(body) });
}

describe('refusals of Vercel', () => {
  it.each([
    [400, 'bad_request', 'Image not found in repository', 'sandbox/no-image'],
    [400, 'bad_request', 'vcpus must be even', 'backend/cannot-honour'],
    [401, 'forbidden', 'Not authorized', 'backend/not-permitted'],
    [402, 'payment_required', 'Payment required', 'backend/not-permitted'],
    [403, 'forbidden', 'Not a member', 'backend/not-permitted'],
    [404, 'not_found', 'Sandbox not found', 'sandbox/not-found'],
    [409, 'conflict', 'Name taken', 'sandbox/in-use'],
    [410, 'snapshot_not_found', 'Gone', 'sandbox/not-found'],
    [410, 'sandbox_stopped', 'Gone', 'sandbox/lost'],
    [422, 'sandbox_stopping', 'Stopping', 'sandbox/lost'],
    [429, 'rate_limited', 'Too many concurrent sandboxes', 'sandbox/no-room'],
    [429, 'rate_limited', 'Slow down', 'backend/not-running'],
    [500, 'internal', 'Oops', 'backend/not-running'],
    [503, 'unavailable', 'Oops', 'backend/not-running'],
  ])('are told in words: %d %s %s', (status, code, message, expected) => {
    const error = refusalError(status, JSON.stringify({ error: { code, message } }), undefined);
    expect(error).toMatchObject({ code: expected, message: `Vercel refused: ${message}` });
  });

  it('cannot speak to a terminal, and say when to come back', () => {
    const error = refusalError(429, JSON.stringify({ error: { code: 'x', message: 'slow\u001b[2J\u202edown\n' } }), '7');
    expect(error.message).toBe('Vercel refused: slow [2J down');
    expect(error.retryAfterMs).toBe(7000);
  });

  it('are not repeated by the package, and carry no token', async () => {
    answering(500, '{"error":{"code":"internal","message":"it is broken"}}');
    const before = fake.requests.length;
    const error = await provider.state('hermetic-x').catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'backend/not-running', message: 'Vercel refused: it is broken' });
    expect(fake.requests.length).toBe(before + 1);
    expect(JSON.stringify(error) + String((error as Error).stack)).not.toContain(fake.environment.VERCEL_TOKEN);
  });

  it.each([
    ['a page', '<html><body>Please log in</body></html>', 'text/html'],
    ['half an object', '{"sandbox":{"na', 'application/json'],
    ['another object', '{"sandbox":{"name":"x"}}', 'application/json'],
    ['nothing', '', 'application/json'],
  ])('are no answers when %s comes with status 200', async (_, body, type) => {
    answering(200, body, type);
    await expect(provider.state('hermetic-x')).rejects.toMatchObject({ code: 'backend/unavailable' });
    await expect(provider.list({})).rejects.toMatchObject({ code: 'backend/unavailable' });
  });

  it('are told when the answer is cut, and when no one listens', async () => {
    fake.faults.push({
      matches: /^/,
      answer: (response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{');
        setImmediate(() => response.destroy());
      },
    });
    await expect(provider.state('hermetic-x')).rejects.toMatchObject({ code: 'backend/not-running' });
    await fake.goDown();
    await expect(provider.account()).rejects.toMatchObject({ code: 'backend/not-running', message: expect.stringContaining('127.0.0.1') });
    await fake.comeUp();
    fake.faults.splice(0);
    expect(await provider.account()).toBe('project prj_test of team team_test at Vercel');
  });

  it('follow no redirect, which would take the token along', async () => {
    let followed = 0;
    fake.faults.push({
      matches: /^/,
      answer: (response) => {
        followed += 1;
        response.writeHead(302, { location: `${fake.root}/elsewhere` }).end();
      },
    });
    await expect(provider.account()).rejects.toThrow('Vercel refused');
    expect(followed).toBe(1);
  });
});

describe('credentials of Vercel', () => {
  it('are named when they are missing', async () => {
    expect(() => vercelCredentials({ VERCEL_TOKEN: 'x' })).toThrow('VERCEL_TEAM_ID, VERCEL_PROJECT_ID');
    const nobody = providerWith(undefined, {});
    await expect(nobody.account()).rejects.toMatchObject({ code: 'backend/not-permitted', hint: expect.stringContaining('VERCEL_TOKEN') });
  });

  it('are read from an OIDC token of a project', () => {
    const payload = Buffer.from(JSON.stringify({ owner_id: 'team_1', project_id: 'prj_1' })).toString('base64url');
    const token = `header.${payload}.signature`;
    expect(vercelCredentials({ VERCEL_OIDC_TOKEN: token })).toEqual({ token, teamId: 'team_1', projectId: 'prj_1' });
    expect(() => vercelCredentials({ VERCEL_OIDC_TOKEN: 'nonsense' })).toThrow('VERCEL_OIDC_TOKEN is not a token');
  });

  it('are not sent to another machine in open text', async () => {
    const options = vercelOptions.parse({ vercel_api_root: 'http://192.0.2.1/api' });
    await expect(new VercelProvider(fake.environment, options).account()).rejects.toMatchObject({ code: 'config/bad-value' });
  });

  it('that are wrong are refused by Vercel in words', async () => {
    const wrong = providerWith(undefined, { ...fake.environment, VERCEL_TOKEN: 'wrong' });
    await expect(wrong.account()).rejects.toMatchObject({ code: 'backend/not-permitted', message: 'Vercel refused: Not authorized' });
  });
});
