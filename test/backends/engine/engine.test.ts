import { describe, expect, it } from 'vitest';
import { dockerProduct } from '../../../src/backends/docker/discover.ts';
import { Engine } from '../../../src/backends/engine/engine.ts';
import { launchContainer } from '../../../src/backends/engine/launch.ts';
import { fakeEngine } from './fake-engine.ts';
import { bodyFor, exampleSpec, realEngine } from './real-engine.ts';

describe('requests to an engine', () => {
  it.each([
    ['1.41', '/v1.41/info'],
    ['1.44', '/v1.44/info'],
    ['1.99', '/v1.47/info'],
  ])('talks to an engine of API %s at %s', async (version, path) => {
    await using fake = await fakeEngine({ 'GET /info': { status: 200, body: { Driver: 'x' } } }, version);
    await Promise.all([fake.engine.info(), fake.engine.info()]);
    expect(fake.calls).toEqual(['GET /_ping', `GET ${path}`, `GET ${path}`]);
  });

  it('refuses an engine that is too old, with the reason', async () => {
    await using fake = await fakeEngine({}, '1.24');
    await expect(fake.engine.info()).rejects.toMatchObject({ code: 'backend/unavailable', hint: expect.stringMatching(/20\.10/) });
  });

  it('detects a server that is not an engine', async () => {
    await using fake = await fakeEngine({ 'GET /_ping': { status: 200 } });
    await expect(fake.engine.ping()).rejects.toMatchObject({
      code: 'backend/not-running',
      message: expect.stringMatching(/not a Docker engine/),
    });
  });

  it('waits for its turn when an engine counts the bytes of volumes for one client at a time', async () => {
    const usage = {
      Volumes: [
        { Name: 'mine', UsageData: { Size: 5 } },
        { Name: 'other', UsageData: { Size: 7 } },
      ],
    };
    let open = 0;
    let refusals = 2;
    await using fake = await fakeEngine({
      'GET /system/df?type=volume': (_request, response) => {
        refusals -= 1;
        const isBusy = open > 0 || refusals >= 0;
        const body = isBusy ? { message: 'a disk usage operation is already running' } : usage;
        open += 1;
        setTimeout(() => {
          open -= 1;
          response.writeHead(isBusy ? 500 : 200).end(JSON.stringify(body));
        }, 5);
      },
    });
    expect(await Promise.all([1, 2, 3].map(() => fake.engine.volumeBytes(['mine'])))).toEqual([5, 5, 5]);
    expect(fake.calls.filter((call) => call.includes('df'))).toHaveLength(5);
  });

  it('does not repeat the counting of bytes that an engine refuses for another reason', async () => {
    await using fake = await fakeEngine({ 'GET /system/df?type=volume': { status: 500, body: { message: 'the disk is broken' } } });
    await expect(fake.engine.volumeBytes(['mine'])).rejects.toThrow('the disk is broken');
    expect(fake.calls.filter((call) => call.includes('df'))).toHaveLength(1);
  });

  it('ends a request after its deadline', async () => {
    await using fake = await fakeEngine({ 'GET /info': () => undefined });
    await expect(fake.engine.info({ timeoutMs: 50 })).rejects.toMatchObject({
      code: 'backend/not-running',
      message: expect.stringMatching(/within 0.05 s/),
    });
  });

  it('ends a request when the caller aborts, with the reason of the caller', async () => {
    await using fake = await fakeEngine({ 'GET /info': () => undefined });
    await expect(fake.engine.info({ signal: AbortSignal.abort(new Error('never mind')) })).rejects.toThrow('never mind');
    const controller = new AbortController();
    const info = fake.engine.info({ signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 20);
    await expect(info).rejects.toThrow('enough');
  });

  it('reports an error when the engine goes away in the middle of an answer', async () => {
    await using fake = await fakeEngine({
      'POST /containers/x/wait?condition=not-running': (_request, response) => {
        response.writeHead(200).write('{"StatusCode":');
        setTimeout(() => fake.cut(), 20);
      },
    });
    await expect(fake.engine.wait('x')).rejects.toMatchObject({ code: 'backend/not-running' });
  });

  it('repeats a GET on a stale connection, and never a POST', async () => {
    let connections = 0;
    await using broken = await fakeEngine({
      'GET /info': (request, response) => {
        connections++;
        if (connections === 2) {
          request.socket.destroy();
        } else {
          response.writeHead(200).end('{}');
        }
      },
      'POST /containers/x/start': (request) => request.socket.destroy(),
    });
    await broken.engine.info();
    await broken.engine.info();
    expect(connections).toBe(3);
    await expect(broken.engine.start('x')).rejects.toMatchObject({ code: 'backend/not-running' });
    expect(broken.calls.filter((call) => call.includes('start'))).toHaveLength(1);
  });

  it.each([
    [404, 'No such image: x', 'sandbox/no-image'],
    [404, 'No such container: x', 'sandbox/not-found'],
    [409, 'Conflict. The container name "/x" is already in use by container "y".', 'sandbox/in-use'],
    [409, 'Container x is not running', 'sandbox/lost'],
    [400, 'Unknown runtime specified runsc: unknown or invalid runtime name', 'backend/cannot-honour'],
    [400, 'Range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available', 'backend/cannot-honour'],
    [500, 'mkdir /var/lib/docker/overlay2/x: no space left on device', 'sandbox/open-failed'],
    [400, 'invalid mount config for type "bind": bind source path does not exist: /x', 'config/bad-value'],
    [404, 'network n not found', 'config/bad-value'],
    [403, 'authorization denied by plugin', 'backend/not-permitted'],
    [500, 'exec: "docker-init": executable file not found in $PATH', 'backend/unavailable'],
    [500, 'something new', 'sandbox/open-failed'],
  ])('maps status %i "%s" to %s', async (status, message, code) => {
    await using fake = await fakeEngine({ 'POST /containers/x/start': { status, body: { message } } });
    await expect(fake.engine.start('x')).rejects.toMatchObject({ code, message: expect.stringContaining(message), cause: { status } });
  });

  it('removes the container of a create whose answer never came', async () => {
    let created = '';
    const removed: string[] = [];
    await using fake = await fakeEngine({
      'POST /containers/create?name=x': async (request) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) {
          chunks.push(chunk);
        }
        created = JSON.parse(Buffer.concat(chunks).toString()).Labels['hermetic.create'];
        request.socket.destroy();
      },
      'DELETE /containers/left?force=1&v=1': (_request, response) => {
        removed.push('left');
        response.writeHead(204).end();
      },
    });
    fake.answer = (request, response) => {
      const filters = new URL(request.url ?? '', 'http://docker').searchParams.get('filters');
      const mine = created !== '' && filters === JSON.stringify({ label: [`hermetic.create=${created}`] });
      response.writeHead(200).end(JSON.stringify(mine ? [{ Id: 'left', Names: ['/x'], Created: 1, State: 'created' }] : []));
    };
    await expect(fake.engine.createContainer('x', {})).rejects.toMatchObject({ code: 'backend/not-running' });
    expect(removed).toEqual(['left']);
  });

  it('reports that no engine listens at an address', async () => {
    const engine = new Engine({ kind: 'tcp', host: '127.0.0.1', port: 1 }, dockerProduct());
    await expect(engine.ping()).rejects.toMatchObject({ code: 'backend/not-running', hint: expect.stringMatching(/Start/) });
  });
});

const real = await realEngine();
describe.skipIf(real.skip)(`containers of a real engine ${real.skip}`, () => {
  const { engine } = real;
  const ours = () => engine.list({ 'hermetic.installation': real.installation });

  it('makes, finds, ends and removes a container', async () => {
    const spec = exampleSpec({ persistent: true });
    const id = await launchContainer(engine, spec.name, bodyFor(real, { spec }));
    expect(await engine.inspect(spec.name)).toMatchObject({ id, name: spec.name, running: true, paused: false, imageId: real.image.id });
    expect(await ours()).toMatchObject([
      { id, name: spec.name, running: true, labels: { 'hermetic.session': spec.session, 'hermetic.name': spec.name } },
    ]);
    await engine.kill(id);
    expect(await engine.inspect(id)).toMatchObject({ running: false, exitCode: 137 });
    expect(await ours()).toMatchObject([{ running: false }]);
    await engine.kill(id);
    await engine.remove(id);
    await engine.remove(id);
    await engine.kill(id);
    expect(await engine.inspect(id)).toBeUndefined();
    expect(await ours()).toEqual([]);
  });

  it('refuses a second container of the same name', async () => {
    const spec = exampleSpec();
    const id = await launchContainer(engine, spec.name, bodyFor(real, { spec }));
    const second = await launchContainer(engine, spec.name, bodyFor(real, { spec })).catch((error: unknown) => error);
    expect(second).toMatchObject({ code: 'sandbox/in-use' });
    expect(await ours()).toMatchObject([{ id }]);
    await engine.remove(id);
  });

  it('leaves no container behind when it cannot be made', async () => {
    const absent = bodyFor(real, { imageId: 'hermetic-test:there-is-none' });
    await expect(launchContainer(engine, exampleSpec().name, absent)).rejects.toMatchObject({ code: 'sandbox/no-image' });
    const runtime = bodyFor(real, { runtime: 'there-is-none' });
    await expect(launchContainer(engine, exampleSpec().name, runtime)).rejects.toMatchObject({ code: 'backend/cannot-honour' });
    const source = bodyFor(real, { spec: exampleSpec({ mounts: [{ source: '/there/is/none', target: '/data', readOnly: true }] }) });
    await expect(launchContainer(engine, exampleSpec().name, source)).rejects.toMatchObject({ code: 'config/bad-value' });
    for (const persistent of [true, false]) {
      const command = bodyFor(real, { spec: exampleSpec({ persistent }), guestCommand: ['/there/is/none'] });
      // Started under an init, a missing program ends the container instead of refusing to start it.
      const id = await launchContainer(engine, exampleSpec().name, {
        ...command,
        HostConfig: { ...command.HostConfig, Init: false },
      }).catch((error: unknown) => error);
      expect(id).toMatchObject({ code: 'sandbox/open-failed', message: expect.stringContaining('/there/is/none') });
    }
    expect(await ours()).toEqual([]);
  });

  it('leaves no container behind when the caller aborts at any time', async () => {
    for (const delay of [0, 1, 3, 6, 12, 25, 60, 120]) {
      const controller = new AbortController();
      const launch = launchContainer(engine, exampleSpec().name, bodyFor(real), controller.signal);
      setTimeout(() => controller.abort(new Error('gave up')), delay);
      const outcome = await launch.catch((error: unknown) => error);
      if (typeof outcome === 'string') {
        // The engine was faster.
        await engine.remove(outcome);
      } else {
        expect(outcome).toMatchObject({ message: 'gave up' });
      }
      expect(await ours(), `after ${delay} ms`).toEqual([]);
    }
  });

  it('waits until a container ends', async () => {
    const spec = exampleSpec({ persistent: true });
    const id = await launchContainer(engine, spec.name, bodyFor(real, { spec }));
    const waiting = engine.wait(id);
    const elsewhere = new Engine(engine.address, engine.product);
    const early = await Promise.race([waiting, new Promise((resolve) => setTimeout(() => resolve('still waiting'), 200))]);
    expect(early).toBe('still waiting');
    await elsewhere.kill(id);
    expect(await waiting).toMatchObject({ exitCode: 137 });
    expect(await engine.wait(id)).toMatchObject({ exitCode: 137 });
    await elsewhere.remove(id);
    elsewhere.close();
    expect(await engine.wait(id)).toMatchObject({ exitCode: undefined, reason: expect.stringMatching(/removed/) });
  });

  it('waits for a container that removes itself', async () => {
    const spec = exampleSpec({ persistent: false });
    const id = await launchContainer(engine, spec.name, bodyFor(real, { spec }));
    const waiting = engine.wait(id);
    await engine.kill(id);
    await waiting;
    // The engine is removing it by itself at this moment.
    await engine.remove(id);
    expect(await engine.inspect(id)).toBeUndefined();
  });

  it('stops waiting for a container when the caller aborts', async () => {
    const spec = exampleSpec();
    const id = await launchContainer(engine, spec.name, bodyFor(real, { spec }));
    const controller = new AbortController();
    const waiting = engine.wait(id, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 20);
    await expect(waiting).rejects.toThrow('enough');
    expect(await engine.inspect(id)).toMatchObject({ running: true });
    await Promise.all([engine.remove(id), engine.remove(id), engine.remove(id)]);
    expect(await ours()).toEqual([]);
  });
});
