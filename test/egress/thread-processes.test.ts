import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import type { EgressRules } from '../../src/core/egress.ts';
import { EgressThread } from '../../src/egress/thread.ts';
import { descendantsOf, startTime } from '../../src/lib/process-facts.ts';
import { until } from '../until.ts';
import { describeNamespaces } from './describe-namespaces.ts';
import { inside, Namespace, type NamespaceOptions, noRules } from './namespace.ts';

const command = { mark: '1000000000000001', ask: undefined, isRunning: () => true };
const toy = { file: new URL('./toy-worker.ts', import.meta.url) };
const namespaces: Namespace[] = [];
const threads: EgressThread[] = [];
const children: number[] = [];

async function namespace(options?: NamespaceOptions): Promise<Namespace> {
  const made = await Namespace.make(options);
  namespaces.push(made);
  return made;
}

function thread(rules: () => EgressRules = () => noRules, answerMs = 60_000): EgressThread {
  const made = new EgressThread(rules, { ...toy, answerMs });
  threads.push(made);
  return made;
}

/** The helpers that run now. */
async function helpers(): Promise<number[]> {
  const own = new Set([...namespaces.map(({ pid }) => pid), ...children]);
  return (await descendantsOf(process.pid)).filter((pid) => !own.has(pid) && startTime(pid) !== undefined);
}

afterEach(async () => {
  for (const made of threads.splice(0)) await made.stop();
  for (const made of namespaces.splice(0)) await made.remove();
});

const refused = 'ECONNREFUSED\n';
/** As a client sees the end of its connection. */
const end = /\n(end|ECONNRESET)\n$/;

describeNamespaces('the egress thread', () => {
  it('receives connections to the proxy and to direct ports of a namespace, and answers names there', async () => {
    const box = await namespace();
    await thread().open(box.entrance);
    expect(await box.client('tcp', '127.0.0.1', 3128)).toBe('proxy 127.0.0.1:3128 no rule\n');
    expect(await box.client('tcp', '127.64.0.7', 443, 'hello')).toBe('name 127.64.0.7:443 no rule\nhello\n');
    expect(await box.client('tcp', '127.64.0.8', 22)).toBe('name 127.64.0.8:22 no rule\n');
    expect(await box.client('udp', '127.0.0.1', 53, 'a name')).toBe('answer to a name\n');
    expect(await box.client('tcp', '127.64.0.7', 80)).toBe(refused);
    await until('the helper is gone', async () => (await helpers()).length === 0);
  });

  it('opens the direct ports of the rules, and the port of the proxy only where the proxy is', async () => {
    const allow = [{ host: 'db.test', isWildcard: false, ports: [5432], text: 'db.test:5432' }];
    const box = await namespace();
    await thread(() => ({ ...noRules, allow, directPorts: [443, 3128], notesAllowed: false })).open(box.entrance);
    expect(await box.client('tcp', '127.64.0.7', 5432)).toBe('name 127.64.0.7:5432 no rule\n');
    expect(await box.client('tcp', '127.64.0.7', 443)).toBe('name 127.64.0.7:443 no rule\n');
    expect(await box.client('tcp', '127.64.0.7', 22)).toBe(refused);
    expect(await box.client('tcp', '127.64.0.7', 3128)).toBe(refused);
  });

  it('enters a namespace by a descriptor, which may be closed when the helper has been started', async () => {
    const box = await namespace();
    const descriptor = openSync(`/proc/${box.pid}/ns/net`, 'r');
    let calls = 0;
    await thread().open({
      command: ['nsenter', '--net=/proc/self/fd/3'],
      namespace: descriptor,
      onStarted: () => {
        calls += 1;
        closeSync(descriptor);
      },
    });
    expect(calls).toBe(1);
    expect(await box.client('tcp', '127.0.0.1', 3128)).toContain('proxy');
  });

  it('waits until the loopback interface of the namespace is up', async () => {
    const box = await namespace({ isUp: false });
    const opening = thread().open(box.entrance);
    await until('the helper waits', async () => (await helpers()).length > 0);
    await box.run('ip', 'link', 'set', 'lo', 'up');
    await opening;
    expect(await box.client('tcp', '127.0.0.1', 3128)).toContain('proxy');
  });

  it('names the port that a program inside has, and leaves nothing open', async () => {
    const box = await namespace();
    const [file = '', ...words] = [...box.entrance.command, process.execPath, '--eval', listen(443)];
    const squatter = spawn(file, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(squatter.pid ?? 0);
    try {
      await until('the program inside listens', async () => (await box.client('tcp', '127.0.0.1', 443, 'x')) === 'end\n');
      const opening = thread().open(box.entrance);
      await expect(opening).rejects.toMatchObject({ code: 'sandbox/network-taken', message: expect.stringContaining('443') });
      expect(await box.client('tcp', '127.0.0.1', 3128)).toBe(refused);
      expect(await helpers()).toEqual([]);
    } finally {
      squatter.kill('SIGKILL');
    }
  });

  it('says why a helper could not enter the namespace', async () => {
    const box = await namespace();
    await box.remove();
    await expect(thread().open(box.entrance)).rejects.toMatchObject({
      code: 'sandbox/open-failed',
      message: expect.stringContaining('nsenter'),
    });
    expect(await helpers()).toEqual([]);
  });

  it('opens nothing in the network of the gateway itself', async () => {
    const opening = thread().open({ command: ['env'] });
    await expect(opening).rejects.toMatchObject({ code: 'sandbox/open-failed', message: expect.stringContaining('network of its own') });
    expect(await helpers()).toEqual([]);
  });

  it('rejects when the helper is missing, and says that its descriptors may be closed', async () => {
    let calls = 0;
    const entrance = { command: ['/nowhere/nsenter'], onStarted: () => (calls += 1) };
    await expect(thread().open(entrance)).rejects.toMatchObject({ code: 'sandbox/open-failed' });
    expect(calls).toBe(1);
  });

  it('rejects when the helper is killed before it has opened the sockets', async () => {
    const box = await namespace({ isUp: false });
    const opening = thread().open(box.entrance);
    opening.catch(() => undefined);
    for (const pid of await until('the helper runs', async () => nonEmpty(await helpers()))) process.kill(pid, 'SIGKILL');
    await expect(opening).rejects.toMatchObject({ code: 'sandbox/open-failed' });
    expect(await helpers()).toEqual([]);
  });

  it('ends the helper when the opening is aborted', async () => {
    const box = await namespace({ isUp: false });
    const abort = new AbortController();
    let calls = 0;
    const opening = thread().open({ ...box.entrance, onStarted: () => (calls += 1) }, abort.signal);
    opening.catch(() => undefined);
    await until('the helper runs', async () => (await helpers()).length > 0);
    abort.abort(new Error('no longer needed'));
    await expect(opening).rejects.toThrow('no longer needed');
    expect(await helpers()).toEqual([]);
    expect(calls).toBe(1);
  });

  it('starts nothing when the opening was aborted before', async () => {
    let calls = 0;
    const entrance = { command: ['false'], onStarted: () => (calls += 1) };
    await expect(thread().open(entrance, AbortSignal.abort(new Error('no longer needed')))).rejects.toThrow('no longer needed');
    expect(calls).toBe(1);
  });

  it('leaves nothing open when the opening is aborted at any moment', async () => {
    const box = await namespace();
    const egress = thread();
    await (await egress.open(box.entrance)).close();
    for (let ms = 0; ms < 100; ms += 9) {
      const door = await egress.open(box.entrance, AbortSignal.timeout(ms)).catch(() => undefined);
      await door?.close();
      expect(await helpers()).toEqual([]);
      expect(await box.client('tcp', '127.0.0.1', 3128)).toBe(refused);
    }
  });

  it('cuts the connections of a door that is closed, and of no other one', async () => {
    const [first, second] = [await namespace(), await namespace()];
    const egress = thread();
    const [door, other] = await Promise.all([first, second].map(({ entrance }) => egress.open(entrance)));
    let lost = false;
    void door?.lost.then(() => (lost = true));
    const cut = await first.stayingClient('proxy');
    const unharmed = await second.stayingClient('proxy');
    await door?.close();
    expect(await cut()).toMatch(end);
    expect(await first.client('tcp', '127.0.0.1', 3128)).toBe(refused);
    expect(await second.client('tcp', '127.0.0.1', 3128)).toContain('proxy');
    expect(lost).toBe(false);
    await other?.close();
    expect(await unharmed()).toMatch(end);
  });

  it('loses every door when it crashes, and starts anew for the next one', async () => {
    const [first, second] = [await namespace(), await namespace()];
    const egress = thread();
    const doors = await Promise.all([first, second].map(({ entrance }) => egress.open(entrance)));
    const watched = doors[0]?.watch(command);
    expect(await first.client('tcp', '127.0.0.1', 3128, 'crash')).toMatch(end);
    for (const door of doors) expect(await door.lost).toContain('a bug of the toy');
    expect(await second.client('tcp', '127.0.0.1', 3128)).toBe(refused);
    expect((await watched?.())?.blocked).toEqual([]);
    await doors[0]?.close();
    await egress.open(second.entrance);
    expect(await second.client('tcp', '127.0.0.1', 3128)).toContain('proxy');
  });

  it('rejects an opening during which it crashes, and leaves no helper', async () => {
    const [first, second] = [await namespace(), await namespace({ isUp: false })];
    const egress = thread();
    await egress.open(first.entrance);
    let calls = 0;
    const opening = egress.open({ ...second.entrance, onStarted: () => (calls += 1) });
    opening.catch(() => undefined);
    await until('the helper runs', async () => (await helpers()).length > 0);
    await first.client('tcp', '127.0.0.1', 3128, 'crash');
    await expect(opening).rejects.toMatchObject({ code: 'sandbox/open-failed', message: expect.stringContaining('a bug of the toy') });
    expect(calls).toBe(1);
    await until('the helper is gone', async () => (await helpers()).length === 0);
  });

  it('is ended when it does not answer any more', async () => {
    const box = await namespace();
    const egress = thread(() => noRules, 5_000);
    const door = await egress.open(box.entrance);
    const cut = await box.stayingClient('spin', 'spin');
    expect((await door.watch(command)()).blocked).toEqual([]);
    await door.close();
    expect(await cut()).toMatch(end);
    expect(await box.client('tcp', '127.0.0.1', 3128)).toBe(refused);
  });

  it('serves connections while the main thread is busy', async () => {
    const box = await namespace();
    await thread().open(box.entrance);
    const [file = '', ...words] = [...box.entrance.command, process.execPath, inside, 'tcp', '127.64.0.7', '443', 'hello'];
    expect(execFileSync(file, words, { encoding: 'utf8' })).toContain('hello');
  });

  it('opens fifty doors at once', async () => {
    const boxes = await Promise.all(Array.from({ length: 50 }, () => namespace()));
    const egress = thread();
    await Promise.all(boxes.map(({ entrance }) => egress.open(entrance)));
    for (const box of boxes.filter((_, index) => index % 10 === 0)) expect(await box.client('tcp', '127.0.0.1', 3128)).toContain('proxy');
    await egress.stop();
    for (const box of boxes.filter((_, index) => index % 10 === 0)) expect(await box.client('tcp', '127.0.0.1', 3128)).toBe(refused);
    expect(await helpers()).toEqual([]);
  });

  it('gives up doors that wait for their turn to be opened', async () => {
    const boxes = await Promise.all(Array.from({ length: 12 }, () => namespace({ isUp: false })));
    const egress = thread();
    const abort = new AbortController();
    let calls = 0;
    const openings = boxes.map(({ entrance }) => egress.open({ ...entrance, onStarted: () => (calls += 1) }, abort.signal));
    const settled = Promise.allSettled(openings);
    await until('helpers run', async () => (await helpers()).length > 0);
    abort.abort(new Error('no longer needed'));
    expect((await settled).map(({ status }) => status)).toEqual(boxes.map(() => 'rejected'));
    expect(calls).toBe(12);
    expect(await helpers()).toEqual([]);
  });

  it('closes every door when it is stopped, also one that is being opened', async () => {
    const [first, second] = [await namespace(), await namespace({ isUp: false })];
    const egress = thread();
    const door = await egress.open(first.entrance);
    const opening = egress.open(second.entrance);
    opening.catch(() => undefined);
    await until('the helper runs', async () => (await helpers()).length > 0);
    await egress.stop();
    await expect(opening).rejects.toMatchObject({ code: 'sandbox/open-failed' });
    expect(await door.lost).toContain('stopped');
    expect(await first.client('tcp', '127.0.0.1', 3128)).toBe(refused);
    expect(await helpers()).toEqual([]);
  });

  it('applies changed rules at once', async () => {
    let rules = noRules;
    const box = await namespace();
    const egress = thread(() => rules);
    await egress.open(box.entrance);
    const cut = await box.stayingClient('proxy');
    expect(await box.client('tcp', '127.0.0.1', 3128)).toContain('no rule');
    rules = { ...noRules, deny: [{ host: 'evil.test', isWildcard: false, ports: 'all', text: 'evil.test' }] };
    egress.rulesChanged();
    expect(await box.client('tcp', '127.0.0.1', 3128)).toContain('evil.test');
    expect(await cut()).toMatch(end);
  });
});

describeNamespaces('a watched door', () => {
  it('tells the connections that were blocked meanwhile, each destination once', async () => {
    const box = await namespace();
    const door = await thread().open(box.entrance);
    await box.client('tcp', '127.0.0.1', 3128, 'block before.test');
    await door.watch(command)();
    const blocked = door.watch(command);
    await box.client('tcp', '127.0.0.1', 3128, 'block evil.test', 'block other.test', 'block evil.test', 'block evil.test');
    expect((await blocked()).blocked).toEqual([
      { host: 'evil.test', port: 443, reason: 'unlisted', count: 3 },
      { host: 'other.test', port: 443, reason: 'unlisted', count: 1 },
    ]);
    expect((await door.watch(command)()).blocked).toEqual([]);
  });

  it('keeps a bounded number of destinations', async () => {
    const box = await namespace();
    const door = await thread().open(box.entrance);
    const blocked = door.watch(command);
    await box.client('tcp', '127.0.0.1', 3128, ...Array.from({ length: 100 }, (_, index) => `block ${index}.test`));
    expect((await blocked()).blocked.length).toBe(32);
  });

  it('tells nothing after it was closed', async () => {
    const box = await namespace();
    const door = await thread().open(box.entrance);
    const blocked = door.watch(command);
    await door.close();
    expect((await blocked()).blocked).toEqual([]);
  });
});

function listen(port: number): string {
  return `require('node:net').createServer((socket) => socket.end()).listen(${port}, '0.0.0.0')`;
}

function nonEmpty<Item>(list: readonly Item[]): readonly Item[] | undefined {
  return list.length > 0 ? list : undefined;
}
