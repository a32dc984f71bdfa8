import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { HermeticError } from '../../../src/core/errors.ts';
import { newHostKey } from '../../fakes/ssh-host-key.ts';
import { describeNeeding } from '../../needs.ts';
import { until } from '../../until.ts';
import { outcomeOf, quietly, startDaytona, wishFor } from './rig.ts';

describeNeeding(['machines'], 'sandboxes that Daytona makes', () => {
  const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const bash = (script: string): string[] => ['bash', '-c', script];

  it('runs a command with input, both outputs and its exit code, byte for byte', async () => {
    const { cloud, provider } = await startDaytona();
    const reference = await provider.create(wishFor(), quietly);
    const command = await provider.attach(reference)(bash('tee /dev/stderr; exit 7'));
    command.stdin.end(everyByte);
    const text = everyByte.toString('latin1');
    expect(await outcomeOf(command)).toEqual({ stdout: text, stderr: text, code: 7 });
    // Nothing of a command is in the request to start it, which a daemon may write down.
    expect(cloud.gateway.commands.join()).not.toContain('tee');
  });

  it('passes megabytes of both outputs at once, which the channel could not', async () => {
    const { provider } = await startDaytona();
    const attach = provider.attach(await provider.create(wishFor(), quietly));
    const command = await attach(bash('head -c 3000000 /dev/zero & head -c 5000000 /dev/zero >&2; wait'));
    command.stdin.end();
    const { stdout, stderr, code } = await outcomeOf(command);
    expect([stdout.length, stderr.length, code]).toEqual([3_000_000, 5_000_000, 0]);
  });

  it('makes what the Dockerfile promises: root, with a home and a workspace', async () => {
    const { provider } = await startDaytona();
    const attach = provider.attach(await provider.create(wishFor(), quietly));
    const command = await attach(bash(`cd ${provider.home} && cd ${provider.workspace} && touch here && id -u`));
    command.stdin.end();
    expect(await outcomeOf(command)).toEqual({ stdout: '0\n', stderr: '', code: 0 });
  });

  it.each(['old', 'new'])('ends the input of a command that goes on, by a gateway that is %s', async (version) => {
    const { cloud, provider } = await startDaytona();
    cloud.gateway.isOld = version === 'old';
    const attach = provider.attach(await provider.create(wishFor(), quietly));
    const command = await attach(bash('cat; echo the end'));
    command.stdin.end('input ');
    expect(await outcomeOf(command)).toEqual({ stdout: 'input the end\n', stderr: '', code: 0 });
  });

  it('shares one connection among the commands of a sandbox, and makes a new one with a new token when it is cut', async () => {
    const { cloud, provider } = await startDaytona();
    const attach = provider.attach(await provider.create(wishFor(), quietly));
    // A connection without commands is closed.
    const cut = await attach(bash('sleep 1000'));
    const commands = await Promise.all([1, 2, 3].map((number) => attach(bash(`read -r; echo ${number}`))));
    for (const command of commands) command.stdin.end('go\n');
    expect((await Promise.all(commands.map(outcomeOf))).map(({ stdout }) => stdout)).toEqual(['1\n', '2\n', '3\n']);
    expect(cloud.gateway.connections).toBe(1);
    cloud.gateway.cutAll();
    await expect(outcomeOf(cut)).rejects.toThrow('cut');
    const again = await attach(bash('echo again'));
    again.stdin.end();
    expect((await outcomeOf(again)).stdout).toBe('again\n');
    expect(cloud.gateway.connections).toBe(2);
  });

  it('gets another token when another program made ours void', async () => {
    const { cloud, provider } = await startDaytona();
    const reference = await provider.create(wishFor(), quietly);
    let isFirst = true;
    cloud.fault = ({ path }) => {
      // The answer to the first call tells of a token that the next call, of another program, makes void.
      if (path.endsWith('/ssh-access') && isFirst) {
        isFirst = false;
        setTimeout(() => {
          const sandbox = cloud.sandboxes.get(reference);
          if (sandbox) sandbox.token = { text: 'of-another-program', expiresAt: Number.POSITIVE_INFINITY };
        });
      }
      return undefined;
    };
    const command = await provider.attach(reference)(bash('echo in'));
    command.stdin.end();
    expect((await outcomeOf(command)).stdout).toBe('in\n');
  });

  it('keeps files while a sandbox is stopped, and brings it back from the archive with progress', async () => {
    const { cloud, provider } = await startDaytona();
    const wish = wishFor();
    const reference = await provider.create(wish, quietly);
    const write = await provider.attach(reference)(bash('echo kept >/workspace/file; sleep 1000 </dev/null & '));
    write.stdin.end();
    write.destroy();
    await until('the file is written', async () => {
      const look = await provider.attach(reference)(bash('cat /workspace/file'));
      look.stdin.end();
      return (await outcomeOf(look)).stdout === 'kept\n';
    });
    expect(await provider.stop(reference)).toBe(reference);
    expect(await provider.state(reference)).toBe('stopped');
    await cloud.pass(8 * 24 * 60);
    expect(cloud.sandboxes.get(reference)?.state).toBe('archived');
    expect(await provider.state(reference)).toBe('stopped');
    const told: string[] = [];
    expect(await provider.resume(reference, wish, { signal: undefined, progress: (text) => told.push(text) })).toBe(reference);
    expect(told.join()).toContain('archive');
    const look = await provider.attach(reference)(bash('cat /workspace/file; pgrep -c sleep'));
    look.stdin.end();
    expect((await outcomeOf(look)).stdout).toBe('kept\n1\n');
  });

  it('asks for what the spec says, rounded up to what is sold, and with every clock armed', async () => {
    const { cloud, provider } = await startDaytona({ daytona_keep_days: 3, daytona_archive_days: 2 });
    const limits = { cpus: 0.5, memoryMb: 1025, diskMb: 51_200, pids: 256 };
    const kept = await provider.create(wishFor({ limits, network: 'none', idleSeconds: 300 }), quietly);
    expect(cloud.sandboxes.get(kept)?.wishes).toMatchObject({
      cpu: 1,
      memory: 2,
      disk: 10,
      networkBlockAll: true,
      public: false,
      autoStopInterval: 5,
      autoDeleteInterval: 3 * 24 * 60,
      autoArchiveInterval: 2 * 24 * 60,
    });
    const ephemeral = await provider.create(wishFor({ persistent: false, idleSeconds: 1 }), quietly);
    const wishes = cloud.sandboxes.get(ephemeral)?.wishes;
    expect(wishes).toMatchObject({ autoStopInterval: 1, autoDeleteInterval: 0, ttlMinutes: 7 * 24 * 60 });
    expect(wishes).not.toHaveProperty('networkBlockAll');
    // A program that died: the clocks of Daytona end one and remove the other.
    await cloud.pass(6);
    expect([await provider.state(kept), await provider.state(ephemeral)]).toEqual(['stopped', 'gone']);
    await cloud.pass(3 * 24 * 60);
    expect(await provider.state(kept)).toBe('gone');
  });

  it('tells how far the making of a sandbox is', async () => {
    const { provider } = await startDaytona();
    const told: string[] = [];
    await provider.create(wishFor(), { signal: undefined, progress: (text) => told.push(text) });
    expect(told).toContain('Daytona builds a snapshot of test:image.');
  });

  it('leaves nothing behind when the image cannot be built, and says why', async () => {
    const { cloud, provider } = await startDaytona();
    const failed = provider.create(wishFor({ image: 'no/such:image' }), quietly);
    await expect(failed).rejects.toThrow(/could not build the image: failed to resolve source metadata for no\/such:image/);
    await expect(failed).rejects.toMatchObject({ code: 'sandbox/no-image' });
    await until('it is removed', () => cloud.left.length === 0);
  });

  it('refuses an image that would be another line of the Dockerfile', async () => {
    const { cloud, provider } = await startDaytona();
    await expect(provider.create(wishFor({ image: 'test:image\nRUN evil' }), quietly)).rejects.toThrow(/not the name of an image/);
    expect(cloud.calls).toEqual([]);
  });

  it('removes a sandbox whose making was not answered, and makes it once', async () => {
    const { cloud, provider } = await startDaytona();
    cloud.fault = ({ method, path }) => (method === 'POST' && path === '/sandbox' ? 'after' : undefined);
    await expect(provider.create(wishFor(), quietly)).rejects.toMatchObject({ code: 'backend/not-running' });
    await until('it is removed', () => cloud.left.length === 0);
    expect(cloud.calls.filter(({ method, path }) => method === 'POST' && path === '/sandbox')).toHaveLength(1);
  });

  it('stops making a sandbox that is not wanted any more, and removes it', async () => {
    const { cloud, provider } = await startDaytona();
    const controller = new AbortController();
    const progress = (): void => controller.abort(new Error('not wanted any more'));
    await expect(provider.create(wishFor(), { signal: controller.signal, progress })).rejects.toThrow('not wanted any more');
    await until('it is removed', () => cloud.left.length === 0);
  });

  it('says that a sandbox does not run, instead of starting a command nowhere', async () => {
    const { provider } = await startDaytona();
    const reference = await provider.create(wishFor(), quietly);
    const attach = provider.attach(reference);
    await provider.stop(reference);
    await expect(attach(['true'])).rejects.toMatchObject({ code: 'sandbox/lost' });
    await provider.remove(reference);
    await provider.remove(reference);
    await expect(attach(['true'])).rejects.toMatchObject({ code: 'sandbox/not-found' });
  });

  it('loses a command whose sandbox is ended by Daytona, and reports no code', async () => {
    const { cloud, provider } = await startDaytona();
    const reference = await provider.create(wishFor(), quietly);
    const command = await provider.attach(reference)(bash('echo begun; sleep 1000'));
    const chunks = command.stdout[Symbol.asyncIterator]();
    expect(String((await chunks.next()).value)).toBe('begun\n');
    await cloud.sandboxes.get(reference)?.stop(0);
    await expect(chunks.next()).rejects.toThrow(HermeticError);
    expect(await command.exitCode()).toBeUndefined();
  });

  it('lists those with our labels, page by page, and none of others', async () => {
    const { cloud, provider } = await startDaytona();
    cloud.pageSize = 2;
    const own = await Promise.all([1, 2, 3].map(() => provider.create(wishFor(), quietly)));
    await provider.create({ ...wishFor(), labels: { 'hermetic.installation': 'another' } }, quietly);
    const stopped = own[0] ?? '';
    await provider.stop(stopped);
    const listed = await provider.list({ 'hermetic.installation': 'tests' });
    expect(listed.map(({ reference }) => reference).sort()).toEqual([...own].sort());
    expect(listed.find(({ reference }) => reference === stopped)?.state).toBe('stopped');
  });

  it('remembers the key of the gateway, and sends nothing to one that shows another key', async () => {
    const { cloud, provider, knownHosts } = await startDaytona();
    const reference = await provider.create(wishFor(), quietly);
    const first = await provider.attach(reference)(['sleep', '1000']);
    const [name = '', type = '', key = ''] = readFileSync(knownHosts, 'utf8').trim().split(' ');
    expect([name, type]).toEqual([`[127.0.0.1]:${cloud.gateway.port}`, 'ssh-ed25519']);
    const another = newHostKey().public.split(' ')[1] ?? '';
    expect(another).not.toBe(key);
    writeFileSync(knownHosts, `${name} ${type} ${another}\n`);
    cloud.gateway.cutAll();
    await expect(outcomeOf(first)).rejects.toThrow('cut');
    const before = cloud.gateway.commands.length;
    await expect(provider.attach(reference)(['true'])).rejects.toMatchObject({
      code: 'backend/unavailable',
      message: expect.stringContaining('has changed'),
    });
    expect(cloud.gateway.commands).toHaveLength(before);
  });

  it('ends the processes of a command that is let go of, by a gateway that does not pass on the end of a channel', async () => {
    const { cloud, provider } = await startDaytona();
    cloud.gateway.isOld = true;
    const attach = provider.attach(await provider.create(wishFor(), quietly));
    const command = await attach(bash('cat; rm /workspace/running'));
    const mark = await attach(bash('touch /workspace/running'));
    mark.stdin.end();
    await outcomeOf(mark);
    command.destroy();
    await until('it has seen the end of its input', async () => {
      const look = await attach(bash('test -e /workspace/running'));
      look.stdin.end();
      return (await outcomeOf(look)).code === 1;
    });
  });
});
