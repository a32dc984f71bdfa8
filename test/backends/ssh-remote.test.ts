import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerChannel } from 'ssh2';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Check, OpenSandbox } from '../../src/core/sandbox.ts';
import { prove } from '../../src/proof/index.ts';
import { backendOf } from '../backends.ts';
import { collect, sleepMark, untilAsleep } from '../contracts/sandbox/rig.ts';
import { describeBackend, processesWith, type TestEngine } from '../engines.ts';
import { startFakeSshServer } from '../fakes/ssh-server.ts';
import { describeNeeding } from '../needs.ts';
import { startRelay } from '../relay.ts';
import { makeKey, startSshd } from '../sshd.ts';
import { until } from '../until.ts';

describeNeeding(['sshd'], 'a machine that is reached by ssh', async () => {
  const sshd = await startSshd();
  const relay = await startRelay({ host: '127.0.0.1', port: sshd.port });
  afterAll(async () => {
    relay.close();
    await sshd.remove();
  });
  const output = async (sandbox: OpenSandbox, command: string): Promise<string> => (await collect(await sandbox.exec({ command }))).stdout;

  await describeBackend('ssh', remoteTests, { options: { ...sshd.options, ssh_port: relay.port } });

  function remoteTests(engine: TestEngine): void {
    const own = join(sshd.home, '.hermetic', 'sandboxes', engine.context.installation);
    const withOptions = (wishes: Record<string, unknown>) =>
      backendOf('ssh', { ...engine.context, options: { ...engine.context.options, ...wishes } });

    it('keeps a workspace on the remote machine for its user alone, and removes it with the sandbox', async () => {
      const spec = engine.spec();
      const sandbox = await engine.open(spec);
      expect(sandbox.cwd).toBe(join(own, spec.name, 'workspace'));
      expect(statSync(join(own, spec.name)).mode & 0o777).toBe(0o700);
      await output(sandbox, 'echo kept >file');
      await sandbox.close();
      expect(readFileSync(join(own, spec.name, 'workspace', 'file'), 'utf8')).toBe('kept\n');
      await sandbox.destroy();
      expect(existsSync(join(own, spec.name))).toBe(false);
    });

    it('sends nothing of our environment, and shows no value on a command line', async () => {
      const secret = 'value "of" a $secret ünïcode\nwith lines';
      const sandbox = await engine.open(engine.spec({ env: { GIVEN: secret } }));
      expect(await output(sandbox, 'printf %s "$GIVEN"')).toBe(secret);
      expect(await output(sandbox, 'compgen -e | grep -E "^(SSH_|VITEST|NODE_|HERMETIC|npm_)"')).toBe('');
      expect(await output(sandbox, 'cat /proc/[0-9]*/cmdline | tr "\\0" " "')).not.toContain('$secret');
      await sandbox.destroy();
    });

    it('runs commands as if login files printed nothing', async () => {
      const file = join(sshd.home, '.bashrc');
      writeFileSync(file, 'echo welcome; echo hello; printf "no end of line"; echo trouble >&2; export FROM_LOGIN=1\n');
      onTestFinished(() => rmSync(file));
      const sandbox = await engine.open(engine.spec());
      expect(await collect(await sandbox.exec({ command: 'echo out; echo "$FROM_LOGIN" >&2' }))).toMatchObject({
        stdout: 'out\n',
        stderr: '1\n',
      });
      await sandbox.destroy();
    });

    it('runs eight sandboxes at once beyond what one connection carries, and keeps the others when one is closed', async () => {
      const sandboxes = await Promise.all(Array.from({ length: 8 }, () => engine.open(engine.spec())));
      const running = await Promise.all(
        sandboxes.map((sandbox) => sandbox.exec({ command: 'echo $$ >>runs; read line; echo "$line"', stdin: 'open' })),
      );
      await sandboxes[0]?.close();
      for (const [index, handle] of running.entries()) {
        if (index === 0) continue;
        await handle.write(`line ${index}\n`);
        expect(await collect(handle)).toMatchObject({ stdout: `line ${index}\n`, exit: { kind: 'exited', code: 0 } });
        expect(await output(sandboxes[index] as OpenSandbox, 'wc -l <runs')).toBe('1\n');
      }
      await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
    });

    it('loses and kills the commands of a cut connection, and connects again for the next one', async () => {
      const sandbox = await engine.open(engine.spec());
      const mark = sleepMark();
      await output(sandbox, 'export KEPT=1; echo kept >file');
      const handle = await sandbox.exec({ command: `setsid sleep ${mark} & sleep ${mark}` });
      await untilAsleep(sandbox, mark, 2);
      relay.cut();
      expect(await handle.exit).toMatchObject({ kind: 'lost' });
      await until('its processes are dead', () => processesWith(mark).length === 0);
      await until('it answers', async () => (await output(sandbox, 'cat file; echo "$KEPT"')) === 'kept\n1\n');
      await sandbox.destroy();
    });

    it('goes on after sshd was restarted between two commands', async () => {
      const sandbox = await engine.open(engine.spec());
      await output(sandbox, 'export KEPT=1');
      await sshd.stop();
      await sshd.start();
      await until('it answers', async () => (await output(sandbox, 'echo "$KEPT"')) === '1\n');
      await sandbox.destroy();
    });

    it('lists the directories on the remote machine that no record knows, and only records when it cannot be reached', async () => {
      const spec = engine.spec();
      await (await engine.open(spec)).close();
      mkdirSync(join(own, 'left-behind', 'workspace'), { recursive: true });
      const listed = await engine.backend.list();
      expect(listed.find(({ name }) => name === 'left-behind')).toMatchObject({ hasFiles: false, state: 'stopped' });
      await listed.find(({ name }) => name === 'left-behind')?.destroy();
      expect(readdirSync(own)).not.toContain('left-behind');
      relay.cut();
      await relay.stop();
      const record = (await engine.backend.list()).find(({ name }) => name === spec.name);
      expect(record).toMatchObject({ hasFiles: true, state: 'stopped' });
      await expect(record?.destroy()).rejects.toMatchObject({ code: 'backend/not-running' });
      await relay.restart();
      // What could not be removed is listed, and removed the next time.
      const again = (await engine.backend.list()).filter(({ name }) => name === spec.name);
      expect(again.map(({ directory, hasFiles }) => [directory, hasFiles])).toEqual([
        ['', false],
        [spec.directory, false],
      ]);
      for (const part of again) await part.destroy();
      expect(existsSync(join(own, spec.name))).toBe(false);
      expect(existsSync(spec.directory)).toBe(false);
    });

    it('tells a session whose files are on another machine that they are not here', async () => {
      const spec = engine.spec();
      await (await engine.open(spec)).close();
      const notices: string[] = [];
      const elsewhere = withOptions({ ssh_directory: join(sshd.home, 'elsewhere') });
      const sandbox = await elsewhere.open(spec, { notice: (text) => notices.push(text), progress: () => undefined });
      expect(notices).toEqual([expect.stringContaining('starts with an empty workspace')]);
      await sandbox.destroy();
    });

    it('refuses what a remote machine cannot give', async () => {
      const { honours } = engine.backend.traits;
      for (const feature of ['image', 'mounts', 'network-none', 'host-user'] as const) expect(honours[feature]).toMatch(/remote/);
      await expect(engine.open(engine.spec({ network: 'restricted' }))).rejects.toMatchObject({ code: 'backend/cannot-restrict' });
      expect(await engine.backend.canRestrict()).toMatch(/remote machine/);
    });

    it('says with a proof that a machine which is this host contains nothing', async () => {
      const hermeticHome = mkdtempSync(join(tmpdir(), 'hermetic-proof-home-'));
      onTestFinished(() => rmSync(hermeticHome, { recursive: true }));
      const [spec, other] = [engine.spec(), engine.spec()];
      const [sandbox, second] = await Promise.all([engine.open(spec), engine.open(other)]);
      const proof = await prove({
        sandbox,
        spec,
        backend: engine.backend,
        sibling: { spec: other, sandbox: second },
        hermeticHome,
        engineSockets: [],
      });
      const verdicts = Object.fromEntries(proof.lines.map(({ check, verdict }) => [check, verdict]));
      expect(proof.held).toBe(false);
      expect(verdicts).toMatchObject({
        'host-file': 'broken',
        'hermetic-home': 'broken',
        'sibling-files': 'open',
      });
      await Promise.all([sandbox.destroy(), second.destroy()]);
    });

    it.each([
      ['answers nothing', () => undefined],
      ['answers with something else', (channel: ServerChannel) => void channel.write('../../etc\n/etc/passwd\nnew\n')],
      ['answers with very much', (channel: ServerChannel) => void channel.write(Buffer.alloc(3_000_000, 'x'))],
      ['answers with a path that is none', (channel: ServerChannel) => void channel.write(`/home\n${'/x'.repeat(5_000)}\nnew\n`)],
    ])('leaves nothing on the host when the remote machine %s', async (_, answer) => {
      const server = await startFakeSshServer({
        exec: (channel) => {
          answer(channel);
          channel.exit(0);
          channel.end();
        },
      });
      onTestFinished(() => server.close());
      const spec = engine.spec();
      const before = readdirSync(join(engine.context.sandboxesDirectory));
      const opening = withOptions({ ssh_port: server.port }).open(spec, { notice: () => undefined, progress: () => undefined });
      await expect(opening).rejects.toMatchObject({ code: expect.stringMatching(/^(backend|sandbox)\//) });
      expect(existsSync(spec.directory)).toBe(false);
      expect(readdirSync(engine.context.sandboxesDirectory)).toEqual(before);
      expect(server.commands.join()).not.toMatch(/scp|sftp|rsync|tar/);
    });

    describe('checking the ssh backend', () => {
      const failure = async (wishes: Record<string, unknown>): Promise<Extract<Check, { usable: false }>> => {
        const check = await withOptions(wishes).check();
        if (check.usable) throw new Error('it is usable');
        expect(check.fix).toMatch(/\w/);
        return check;
      };

      it('tells what is wrong with the settings, and how to correct it', async () => {
        const stranger = join(sshd.directory, 'stranger');
        makeKey(stranger);
        const strange = join(sshd.directory, 'strange_hosts');
        writeFileSync(strange, `[127.0.0.1]:${relay.port} ${readFileSync(`${stranger}.pub`, 'utf8')}`);
        const answers = await Promise.all([
          failure({ ssh_host: undefined }),
          failure({ ssh_user: undefined }),
          failure({ ssh_port: 1 }),
          failure({ ssh_host: 'no-such-host.invalid' }),
          failure({ ssh_key: stranger }),
          failure({ ssh_key: join(sshd.directory, 'missing') }),
          failure({ ssh_known_hosts: strange }),
          failure({ ssh_known_hosts: join(sshd.directory, 'none'), ssh_host_keys: 'strict' }),
          failure({ ssh_directory: '/proc/nowhere' }),
          failure({ ssh_jump: `${sshd.user}@127.0.0.1:1` }),
          failure({ ssh_passphrase_env: 'NOT_SET' }),
        ]);
        expect(answers.map(({ code, reason }) => `${code}: ${reason}`)).toEqual([
          expect.stringMatching(/unavailable: .*terminal\.ssh_host is not set/),
          expect.stringMatching(/unavailable: .*terminal\.ssh_user is not set/),
          expect.stringMatching(/not-running: .*refuses connections to port 1/),
          expect.stringMatching(/not-running: .*cannot be resolved/),
          expect.stringMatching(/not-permitted: .*did not accept the key/),
          expect.stringMatching(/not-permitted: .*no key/),
          expect.stringMatching(/not-permitted: .*has changed.*SHA256.*SHA256/),
          expect.stringMatching(/not-permitted: .*is not in/),
          expect.stringMatching(/unavailable: .*cannot be used/),
          expect.stringMatching(/not-running: .*refuses connections/),
          expect.stringMatching(/unavailable: .*NOT_SET/),
        ]);
      });

      it('leaves nothing on the remote machine', async () => {
        const before = existsSync(own) ? readdirSync(own) : [];
        expect(await engine.backend.check()).toMatchObject({ usable: true, summary: expect.stringContaining('127.0.0.1') });
        expect(existsSync(own) ? readdirSync(own) : []).toEqual(before);
      });

      it('tells that the remote machine has no bash, or starts no command', async () => {
        const bare = await startSshd([`SetEnv PATH=${sshd.directory}`]);
        const forced = await startSshd(['ForceCommand echo "only backups here"']);
        onTestFinished(() => bare.remove());
        onTestFinished(() => forced.remove());
        expect(await failure(bare.options)).toMatchObject({ code: 'backend/not-installed', reason: expect.stringContaining('no bash') });
        expect(await failure(forced.options)).toMatchObject({
          code: 'backend/unavailable',
          reason: expect.stringMatching(/did not answer as expected/),
        });
      });
    });
  }
});
