import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ensureImage, findImage, refuseUnlessPullable } from '../../../src/backends/engine/image.ts';
import { parseImageReference } from '../../../src/backends/engine/image-reference.ts';
import { fakeEngine } from './fake-engine.ts';
import { realEngine } from './real-engine.ts';

describe('the name of an image', () => {
  it.each([
    ['python', 'python', 'latest', undefined, 'python:latest'],
    [
      'nikolaik/python-nodejs:python3.11-nodejs20',
      'nikolaik/python-nodejs',
      'python3.11-nodejs20',
      undefined,
      'nikolaik/python-nodejs:python3.11-nodejs20',
    ],
    ['localhost:5000/a/b', 'localhost:5000/a/b', 'latest', undefined, 'localhost:5000/a/b:latest'],
    [
      'registry.example.com:443/a__b/c-d.e:1.0',
      'registry.example.com:443/a__b/c-d.e',
      '1.0',
      undefined,
      'registry.example.com:443/a__b/c-d.e:1.0',
    ],
    [`a/b@sha256:${'ab'.repeat(32)}`, 'a/b', undefined, `sha256:${'ab'.repeat(32)}`, `a/b@sha256:${'ab'.repeat(32)}`],
    [`a:t@sha256:${'ab'.repeat(32)}`, 'a', 't', `sha256:${'ab'.repeat(32)}`, `a:t@sha256:${'ab'.repeat(32)}`],
    [`sha256:${'ab'.repeat(32)}`, `sha256:${'ab'.repeat(32)}`, undefined, undefined, `sha256:${'ab'.repeat(32)}`],
  ])('parses %s as the name of an image', (text, repository, tag, digest, whole) => {
    expect(parseImageReference(text)).toEqual({ repository, tag, digest, text: whole });
  });

  it.each([
    '',
    ' ',
    'UPPER',
    'a b',
    'a?b',
    '../x',
    'a/../b',
    'a//b',
    '/a',
    'a/',
    'a:',
    'a:b:c',
    'a@b',
    'a@sha256:zz',
    'a#b',
    'a%2f',
    '-v',
    'a\nb',
    'a:..',
    'a@sha256:ab@x',
  ])('refuses %j as the name of an image', (text) => {
    expect(() => parseImageReference(text)).toThrow(expect.objectContaining({ code: 'config/bad-value' }));
  });
});

describe('a pull', () => {
  const missing = { 'GET /images/x:latest/json': { status: 404, body: { message: 'No such image: x:latest' } } };

  it('reports the progress of a pull, then finds the image', async () => {
    let pulled = false;
    await using fake = await fakeEngine({
      'GET /images/x:latest/json': (_request, response) => {
        response
          .writeHead(pulled ? 200 : 404)
          .end(JSON.stringify(pulled ? { Id: 'sha256:1', Size: 5, Config: { User: 'node' } } : { message: 'No such image' }));
      },
      'POST /images/create?fromImage=x&tag=latest': (_request, response) => {
        response.writeHead(200);
        response.write('{"status":"Downloading","id":"a","progressDetail":{"current":1000000,"total":4000000}}\r\n');
        pulled = true;
        response.end('{"status":"Status: Downloaded newer image"}\r\n');
      },
    });
    const lines: string[] = [];
    const image = await ensureImage(fake.engine, 'x', { progress: (text) => lines.push(text), progressEveryMs: 0 });
    expect(image).toMatchObject({ id: 'sha256:1', user: 'node', reference: 'x' });
    expect(lines).toEqual(['pulling x:latest', 'pulling x:latest: 1 of 4 MB']);
  });

  it('reports the progress of a pull once per interval', async () => {
    await using fake = await fakeEngine({
      ...missing,
      'POST /images/create?fromImage=x&tag=latest': (_request, response) => {
        response.writeHead(200);
        for (let count = 1; count < 500; count++) {
          response.write(`{"status":"Downloading","id":"a","progressDetail":{"current":${count}000000,"total":500000000}}\r\n`);
        }
        response.end();
      },
    });
    const lines: string[] = [];
    await expect(ensureImage(fake.engine, 'x', { progress: (text) => lines.push(text) })).rejects.toMatchObject({
      code: 'sandbox/no-image',
    });
    expect(lines).toEqual(['pulling x:latest']);
  });

  it.each([
    [404, 'pull access denied for x, repository does not exist', 'pull access denied for x', /Is the name right/],
    [
      500,
      'Get "https://registry.test/v2/": dial tcp: lookup registry.test on 10.0.0.1:53: no such host',
      'cannot be pulled: the engine finds no address of its registry registry.test',
      /could not reach the registry/,
    ],
    [
      500,
      'Get "https://registry.test/v2/": dial tcp 192.0.2.1:443: connect: no route to host',
      'cannot be pulled: the engine cannot reach its registry',
      /could not reach the registry/,
    ],
    [500, 'toomanyrequests: You have reached your pull rate limit', 'pull rate limit', /docker login/],
  ])('explains a pull that is refused with %i, %s', async (status, message, reason, hint) => {
    await using fake = await fakeEngine({ ...missing, 'POST /images/create?fromImage=x&tag=latest': { status, body: { message } } });
    const pull = ensureImage(fake.engine, 'x', { progress: () => undefined });
    await expect(pull).rejects.toMatchObject({
      code: 'sandbox/no-image',
      hint: expect.stringMatching(hint),
      message: expect.stringContaining(reason),
    });
  });

  it('explains a pull that fails half way', async () => {
    await using fake = await fakeEngine({
      ...missing,
      'POST /images/create?fromImage=x&tag=latest': (_request, response) => {
        response.writeHead(200);
        response.write('{"status":"Pulling fs layer","id":"a"}\r\n');
        response.end(
          '{"errorDetail":{"message":"write /var/lib/docker/tmp/x: no space left on device"},"error":"write: no space left on device"}\r\n',
        );
      },
    });
    const pull = ensureImage(fake.engine, 'x', { progress: () => undefined });
    await expect(pull).rejects.toMatchObject({ code: 'sandbox/no-image', hint: expect.stringMatching(/disk of the engine is full/) });
  });

  it('ends a pull that stalls before or after its first byte', async () => {
    for (const first of ['', '{"status":"Pulling fs layer","id":"a"}\r\n']) {
      await using fake = await fakeEngine({
        ...missing,
        'POST /images/create?fromImage=x&tag=latest': (_request, response) => {
          if (first !== '') {
            response.writeHead(200).write(first);
          }
        },
      });
      const pull = ensureImage(fake.engine, 'x', { progress: () => undefined, stallMs: 100 });
      await expect(pull).rejects.toMatchObject({ code: 'sandbox/no-image', message: expect.stringMatching(/no progress for 0.1 s/) });
    }
  });

  it('continues a pull as long as bytes arrive', async () => {
    await using fake = await fakeEngine({
      ...missing,
      'POST /images/create?fromImage=x&tag=latest': async (_request, response) => {
        response.writeHead(200);
        for (let count = 1; count <= 8; count++) {
          response.write(`{"status":"Downloading","id":"a","progressDetail":{"current":${count}000000,"total":9000000}}\r\n`);
          while (!lines.at(-1)?.includes(`: ${count} of 9 MB`)) await new Promise((resolve) => setImmediate(resolve));
          vi.advanceTimersByTime(200);
        }
        response.end('{"error":"enough"}\r\n');
      },
    });
    const lines: string[] = [];
    // A clock that passes only when the bytes have arrived.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const pull = ensureImage(fake.engine, 'x', { progress: (text) => lines.push(text), progressEveryMs: 0, stallMs: 300 });
    await expect(pull).rejects.toMatchObject({ message: expect.stringMatching(/enough/) });
  });

  it('ends a pull when the caller aborts, and closes the connection to the engine', async () => {
    const gone = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await using fake = await fakeEngine({
      ...missing,
      'POST /images/create?fromImage=x&tag=latest': (request) => {
        request.socket.on('close', () => gone.resolve());
        asked.resolve();
      },
    });
    const controller = new AbortController();
    const pull = ensureImage(fake.engine, 'x', { progress: () => undefined, signal: controller.signal });
    await asked.promise;
    controller.abort(new Error('enough'));
    await expect(pull).rejects.toThrow('enough');
    await gone.promise;
  });

  it('does not retry a failed pull for a while, unless the image exists by then', async () => {
    const replies: Parameters<typeof fakeEngine>[0] = {
      ...missing,
      'POST /images/create?fromImage=x&tag=latest': { status: 500, body: { message: 'no such host' } },
    };
    await using fake = await fakeEngine(replies);
    const pull = () => ensureImage(fake.engine, 'x', { progress: () => undefined });
    const refusal = { code: 'sandbox/no-image', message: expect.stringMatching(/no such host/) };
    await expect(pull()).rejects.toMatchObject(refusal);
    await expect(pull()).rejects.toMatchObject(refusal);
    expect(fake.calls.filter((call) => call.startsWith('POST'))).toHaveLength(1);
    replies['GET /images/x:latest/json'] = { status: 200, body: { Id: 'sha256:1', Size: 1, Config: null } };
    expect(await pull()).toMatchObject({ id: 'sha256:1' });
  });

  it('refuses to pull an image by its id', async () => {
    await using fake = await fakeEngine({});
    await expect(ensureImage(fake.engine, `sha256:${'ab'.repeat(32)}`, { progress: () => undefined })).rejects.toMatchObject({
      code: 'sandbox/no-image',
    });
  });
});

describe('the check of an image that was not pulled', () => {
  it('asks the registry whether an image can be pulled, without a pull', async () => {
    await using fake = await fakeEngine({ 'GET /distribution/x:latest/json': { status: 200, body: {} } });
    await refuseUnlessPullable(fake.engine, 'x');
    expect(fake.calls.filter((call) => call.startsWith('POST'))).toEqual([]);
  });

  it.each([
    [403, 'pull access denied for x, repository does not exist', 'pull access denied for x', /name right/],
    [401, 'unauthorized: authentication required', 'unauthorized: authentication required', /name right/],
    [500, 'dial tcp: lookup registry.test: no such host', 'the engine finds no address of its registry', /reach the registry/],
  ])('refuses an image with the error of the engine: %i', async (status, message, reason, hint) => {
    await using fake = await fakeEngine({ 'GET /distribution/x:latest/json': { status, body: { message } } });
    await expect(refuseUnlessPullable(fake.engine, 'x')).rejects.toMatchObject({
      code: 'sandbox/no-image',
      message: expect.stringContaining(`x:latest is not there and cannot be pulled: ${reason}`),
      hint: expect.stringMatching(hint),
    });
  });

  it('refuses an image when the registry does not answer in time', async () => {
    await using fake = await fakeEngine({ 'GET /distribution/x:latest/json': () => undefined });
    await expect(refuseUnlessPullable(fake.engine, 'x', 100)).rejects.toMatchObject({
      code: 'sandbox/no-image',
      message: expect.stringMatching(/the registry did not answer within 0\.1 s/),
    });
  });
});

const real = await realEngine();
describe.skipIf(real.skip)(`images of a real engine ${real.skip}`, () => {
  it('finds an image by name and by id without a pull', async () => {
    expect(await findImage(real.engine, real.image.reference)).toEqual(real.image);
    expect(await findImage(real.engine, 'hermetic-test:there-is-none')).toBeUndefined();
    const lines: string[] = [];
    expect(await ensureImage(real.engine, real.image.reference, { progress: (text) => lines.push(text) })).toEqual(real.image);
    expect(await ensureImage(real.engine, real.image.id, { progress: (text) => lines.push(text) })).toMatchObject({ id: real.image.id });
    expect(lines).toEqual([]);
  });

  it('refuses an image of an unreachable registry without a pull', async () => {
    const refusal = { code: 'sandbox/no-image', hint: expect.stringMatching(/registry/) };
    await expect(refuseUnlessPullable(real.engine, '127.0.0.1:1/hermetic/none:1')).rejects.toMatchObject(refusal);
  });

  it('explains the failed pull of an image from an unreachable registry', async () => {
    // Port 1 of this machine: nobody listens there, so nothing leaves it.
    const pull = ensureImage(real.engine, '127.0.0.1:1/hermetic/none:1', {
      progress: () => undefined,
      signal: AbortSignal.timeout(120_000),
    });
    await expect(pull).rejects.toMatchObject({ code: 'sandbox/no-image', hint: expect.stringMatching(/registry/) });
  });
});
