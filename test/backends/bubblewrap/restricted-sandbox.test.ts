import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { egressEnvironment } from '../../../src/egress/environment.ts';
import { EgressThread } from '../../../src/egress/thread.ts';
import { backendOf } from '../../backends.ts';
import { collect, useRig } from '../../contracts/sandbox/rig.ts';
import { describeBackend } from '../../engines.ts';
import { until } from '../../until.ts';

const network = 'restricted' as const;
const quiet = { notice: () => undefined, progress: () => undefined };
/** A request to the proxy, and the first line of its answer with the header that is ours. */
const ask = (request: string): string =>
  `exec 3<>/dev/tcp/127.0.0.1/3128; printf '${request} HTTP/1.1\\r\\nHost: evil.example\\r\\nConnection: close\\r\\n\\r\\n' >&3; tr -d '\\r' <&3 | grep -iE '^(HTTP|X-Hermetic)'; exec 3>&-`;

await describeBackend('bubblewrap', (engine) => {
  it('can restrict the network of its sandboxes', async () => {
    expect(await engine.backend.canRestrict()).toBe(true);
    const check = await engine.backend.check();
    expect(check).toMatchObject({ usable: true, notes: [expect.anything(), 'Their network can be restricted to chosen hosts.'] });
  });

  const rig = useRig(engine, { network, env: egressEnvironment });

  it('tells programs inside that a host is blocked, and the command which one', async () => {
    const handle = await rig.start(`${ask('CONNECT evil.example:443')}; ${ask('GET http://evil.example/')}`);
    expect((await collect(handle)).stdout).toMatch(/^(HTTP\/1\.1 403 .*\nX-Hermetic: blocked\n){2}$/i);
    expect((await handle.connections()).blocked).toEqual([
      { host: 'evil.example', port: 443, reason: 'unlisted', count: 1 },
      { host: 'evil.example', port: 80, reason: 'unlisted', count: 1 },
    ]);
  });

  it('resolves every name to an address inside, and resets a connection to a host that is not allowed', async () => {
    const handle = await rig.start(
      'getent ahosts evil.example | cut -d" " -f1 | uniq; (exec 3<>/dev/tcp/evil.example/443 && cat <&3) 2>&1; true',
    );
    expect((await collect(handle)).stdout).toMatch(/^127\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+\n.*Connection reset by peer\n$/);
    expect((await handle.connections()).blocked).toEqual([{ host: 'evil.example', port: 443, reason: 'unlisted', count: 1 }]);
  });

  it('blocks a program that knows no proxy, or whose proxy variables were removed', async () => {
    const names = Object.keys(egressEnvironment);
    expect(await rig.output(`printenv ${names.join(' ')}`)).toBe(`${Object.values(egressEnvironment).join('\n')}\n`);
    const connect = '(exec 3<>/dev/tcp/192.0.2.7/443) 2>&1';
    const { stdout } = await rig.run(`env ${names.map((name) => `-u ${name}`).join(' ')} bash -c '${connect}'`);
    expect(stdout).toContain('Network is unreachable');
  });

  it('has its own sockets for each of two programs that have one sandbox open', async () => {
    const spec = engine.spec({ network });
    const [one, other] = [await engine.open(spec), await engine.open(spec)];
    await one.close();
    expect((await collect(await other.exec({ command: ask('CONNECT evil.example:443') }))).stdout).toContain('403');
    await other.destroy();
  });

  it('ends the sandbox with the reason when its sockets are lost', async () => {
    const egress = new EgressThread(() => ({ allow: [], deny: [], private: [], directPorts: [22, 443], notesAllowed: false }));
    const backend = backendOf('bubblewrap', { ...engine.context, egress });
    const sandbox = await backend.open(engine.spec({ network }), quiet);
    const handle = await sandbox.exec({ command: 'echo begun; sleep 600' });
    const output = handle.output[Symbol.asyncIterator]();
    await output.next();
    await egress.stop();
    expect(await handle.exit).toMatchObject({ kind: 'lost' });
    expect(await sandbox.ended).toContain('its network was lost');
    const message = expect.stringContaining('its network was lost');
    await expect(sandbox.exec({ command: 'true' })).rejects.toMatchObject({ code: 'sandbox/lost', message });
    await sandbox.destroy();
  });

  it('keeps no descriptor and no process of sandboxes that were closed or given up', async () => {
    const open = (): string[] => readdirSync('/proc/self/fd');
    await (await engine.open(engine.spec({ network }))).destroy();
    const before = open().length;
    for (const afterMs of [undefined, 20, 60, 100, 140, undefined]) {
      const opening = engine.open(engine.spec({ network }), afterMs === undefined ? undefined : AbortSignal.timeout(afterMs));
      await (await opening.catch(() => undefined))?.destroy();
    }
    await until('the descriptors are closed', () => open().length <= before);
  });
});
