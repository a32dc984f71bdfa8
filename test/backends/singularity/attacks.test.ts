import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import type { Verdict } from '../../../src/core/proof.ts';
import { type OpenSandbox, quiet, type SandboxSpec } from '../../../src/core/sandbox.ts';
import { proofText, prove } from '../../../src/proof/index.ts';
import { apptainer, reachableDirectory, unpackImage } from '../../apptainer.ts';
import { contextIn } from '../../backends.ts';
import type { Task } from '../../client.ts';
import { collect } from '../../contracts/sandbox/rig.ts';
import { describeBackend, processesWith } from '../../engines.ts';
import { describeNeeding } from '../../needs.ts';
import { identity } from '../../podman-service.ts';
import { until } from '../../until.ts';

const directory = reachableDirectory();
const image = unpackImage(directory);
const options = { singularity_program: apptainer, singularity_image: image };
const isRoot = process.getuid?.() === 0;

const output = async (sandbox: OpenSandbox, command: string): Promise<string> => (await collect(await sandbox.exec({ command }))).stdout;

await describeBackend(
  'singularity',
  (engine) => {
    it('lets nothing of the environment of the host in, not even what Apptainer is told to hand on', async () => {
      const names = ['APPTAINERENV_LEAK', 'SINGULARITYENV_LEAK', 'APPTAINER_BIND', 'http_proxy', 'TERM', 'OPENAI_API_KEY'];
      for (const name of names) process.env[name] = '/etc:/leaked';
      onTestFinished(() => {
        for (const name of names) delete process.env[name];
      });
      const sandbox = await engine.open(engine.spec({ env: { CHOSEN: 'with "quotes"\nand lines' } }));
      const variables = await output(sandbox, 'env -0 | tr "\\0\\n" "\\n_"; ls / | grep leaked');
      expect(variables).toContain('CHOSEN=with "quotes"_and lines');
      expect(variables).not.toMatch(/leak|proxy|APPTAINER|SINGULARITY|TERM|OPENAI/i);
      await sandbox.destroy();
    });

    it('hides the files, processes, users and names of the host and of other sandboxes', async () => {
      const other = await engine.open(engine.spec());
      await other.writeFile('secret', 'hunter2');
      writeFileSync(join(engine.context.sandboxesDirectory, 'secret'), 'hunter2');
      const sandbox = await engine.open(engine.spec());
      const searched = 'find / -path /proc -prune -o -path /usr -prune -o -name secret -exec grep -s hunter2 {} +';
      expect(await output(sandbox, `ls '${engine.context.sandboxesDirectory}' /root 2>/dev/null; ls -A /sys; ${searched}`)).toBe('');
      expect(await output(sandbox, 'cat /etc/hostname; hostname; cut -d: -f1 /etc/passwd; wc -c < /etc/resolv.conf')).toBe(
        'sandbox\nsandbox\nroot\nagent\nnobody\n0\n',
      );
      const seen = await output(sandbox, 'cat /proc/[0-9]*/cmdline | tr "\\0" "\\n"');
      expect(seen).toContain('appinit');
      expect(seen).not.toMatch(/vitest|node/);
      expect(await output(sandbox, 'ls -l /proc/self/fd | grep -- "-> /" | grep -vcE -- "-> /(run/hermetic|dev|proc)/"')).toBe('0\n');
      await Promise.all([other.destroy(), sandbox.destroy()]);
    });

    it('has no capabilities, no way to new ones, and no system calls that make namespaces or mounts', async () => {
      const sandbox = await engine.open(engine.spec());
      const status = await output(sandbox, "grep -E '^(Cap|NoNewPrivs|Seccomp):?' /proc/self/status | tr -d '\\t'");
      expect(status).toMatch(/^(Cap...:0{16}\n){5}NoNewPrivs:1\nSeccomp:2\n/);
      const tries =
        'for try in "unshare -U" "unshare -r" "unshare -m" "mount -t tmpfs x /mnt" "chroot /"; do $try true 2>/dev/null && echo "$try"; done';
      expect(await output(sandbox, `${tries}; echo x 2>/dev/null >/proc/sys/kernel/core_pattern && echo written`)).toBe('');
      if (isRoot) expect(Number(await output(sandbox, 'id -u'))).toBeGreaterThan(1_000_000_000);
      await sandbox.destroy();
    });

    it('cannot change the files of the host that it sees, and puts no file of its own in their place', async () => {
      const shown = join(directory, 'shown, "with" commas:ro');
      mkdirSync(shown, { recursive: true });
      writeFileSync(join(shown, 'file'), 'of the host');
      const mounts = [{ source: shown, target: '/workspace/a, "b":c', readOnly: true }];
      const sandbox = await engine.open(engine.spec({ mounts }));
      const attempts =
        'cd /workspace/a*; cat file; for f in file /etc/passwd /run/hermetic/forker.bash /received/x; do echo x 2>/dev/null >"$f" && echo "$f"; done';
      expect(
        await output(
          sandbox,
          `${attempts}; mv /run/hermetic /run/other 2>/dev/null; rm -rf /etc/hosts 2>/dev/null; test -s /etc/hosts && echo there`,
        ),
      ).toBe('of the hostthere\n');
      expect(readFileSync(join(shown, 'file'), 'utf8')).toBe('of the host');
      await sandbox.destroy();
    });

    it('reaches with no network only itself, and gets no open one', async () => {
      const server = createServer((socket) => socket.end('reached\n')).listen(0, '0.0.0.0');
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      const { port } = server.address() as { port: number };
      const sandbox = await engine.open(engine.spec({ network: 'none' }));
      const reach = `(exec 3<>/dev/tcp/127.0.0.1/${port}; cat <&3) 2>/dev/null`;
      expect(await output(sandbox, `${reach}; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '`)).toBe('lo\n');
      await sandbox.destroy();
      await expect(engine.open(engine.spec({ network: 'open' }))).rejects.toMatchObject({ code: 'backend/cannot-honour' });
      expect(engine.backend.traits.honours['network-open']).toMatch(/loopback/);
    });

    it('has the sockets of a restricted network before the first command, and no other way out', async () => {
      const spec = engine.spec({ network: 'restricted' });
      const sandbox = await engine.open(spec);
      const blocked = await sandbox.exec({
        command:
          'exec 3<>/dev/tcp/127.0.0.1/3128; printf "CONNECT example.com:443 HTTP/1.1\\r\\nHost: example.com:443\\r\\n\\r\\n" >&3; head -n 1 <&3',
      });
      expect((await collect(blocked)).stdout).toMatch(/^HTTP\/1\.1 403/);
      expect((await blocked.connections()).blocked).toMatchObject([{ host: 'example.com', port: 443, reason: 'unlisted' }]);
      expect(await output(sandbox, 'cat /etc/resolv.conf; tail -n +3 /proc/net/dev | cut -d: -f1')).toBe('nameserver 127.0.0.1\n    lo\n');
      await sandbox.destroy();
    });

    it('holds the proof of containment', async () => {
      const limits = { cpus: 1, memoryMb: 512, diskMb: 0, pids: 128 };
      const open = async () => {
        const spec = engine.spec({ limits });
        return { spec, sandbox: await engine.open(spec) };
      };
      const [first, sibling] = [await open(), await open()];
      const engineSockets = ['/var/run/docker.sock'];
      const proof = await prove({ ...first, sibling, backend: engine.backend, hermeticHome: directory, engineSockets });
      const bad: Verdict[] = ['broken', 'unknown', 'open'];
      expect(
        proof.lines.filter(({ verdict }) => bad.includes(verdict)),
        proofText(proof),
      ).toEqual([]);
      expect(proof.held).toBe(true);
      await Promise.all([first.sandbox.destroy(), sibling.sandbox.destroy()]);
    });

    it('ends everything when the program is killed, also when its forker was stopped and a process holds every pipe', async () => {
      const word = `sleeper-${randomBytes(6).toString('hex')}`;
      const spec = engine.spec();
      const command = `exec -a ${word} sleep 1000 & setsid bash -c "exec -a ${word} sleep 1000" & echo begun; kill -STOP $(pgrep -f forker.bash); wait`;
      const client = await engine.startClient({ spec, action: 'start', commands: [command] });
      expect(client.answer).toEqual(['begun\n']);
      await until('they run', () => processesWith(word).length === 2);
      await client.kill();
      await until('nothing is left', () => processesWith(word).length === 0 && processesWith(image).length === 0);
      const again = await engine.open(spec);
      expect(await output(again, 'echo usable')).toBe('usable\n');
      await again.destroy();
    });

    it('keeps changes of the image in an overlay of the session, and temporary files for the run only', async () => {
      const spec = engine.spec();
      const first = await engine.open(spec);
      await output(first, 'echo kept >/kept; echo gone >/tmp/gone; echo gone >/var/tmp/gone; echo gone >/run/gone');
      await first.close();
      const second = await engine.open(spec);
      expect(await output(second, 'cat /kept; ls -A /tmp /var/tmp | grep gone; ls /run')).toBe('kept\nhermetic\n');
      expect((await engine.backend.diskUse(spec)).files).toBeGreaterThan(10);
      await second.destroy();
      expect(readdirSync(join(spec.directory, '..'))).not.toContain(spec.name);
    });

    it('gives a second program with the session an overlay that goes with it, and says so', async () => {
      const spec = engine.spec();
      const client = await engine.startClient({ spec, action: 'start', commands: ['echo 1 >/first; echo begun'] });
      expect(client.answer).toEqual(['begun\n']);
      const notices: string[] = [];
      const second = await engine.backend.open(spec, { ...quiet, notice: (text) => notices.push(text) });
      expect(await output(second, 'ls /first 2>/dev/null; echo 2 >/second; cat /second')).toBe('2\n');
      expect(notices.join('\n')).toContain('Another program has this session open');
      await second.close();
      await client.kill();
      await until('its sandbox is gone', () => processesWith(image).length === 0);
      const third = await engine.open(spec);
      expect(await output(third, 'ls /first /second 2>/dev/null')).toBe('/first\n');
      await third.destroy();
    });

    it('says how to get Apptainer where it is missing', async () => {
      const { backendOf } = await import('../../backends.ts');
      const backend = backendOf('singularity', { ...engine.context, options: { ...options, singularity_program: '/nowhere/apptainer' } });
      expect(await backend.check()).toMatchObject({
        usable: false,
        code: 'backend/not-installed',
        fix: expect.stringContaining('package apptainer'),
      });
      await expect(backend.open(engine.spec(), { notice: () => undefined, progress: () => undefined })).rejects.toMatchObject({
        code: 'backend/not-installed',
      });
    });

    describeNeeding(['root'], 'started by an ordinary user', () => {
      it('runs as that user, contained alike, and owns its files', async () => {
        const user = `hermetic-${randomBytes(4).toString('hex')}`;
        const home = join(directory, user);
        spawnSync('useradd', ['--no-create-home', '--home-dir', home, '--shell', '/usr/sbin/nologin', user]);
        onTestFinished(() => void spawnSync('userdel', [user]));
        mkdirSync(home);
        spawnSync('chown', [`${user}:${user}`, home]);
        const { egress: _, ...found } = contextIn(join(home, 'sandboxes'));
        const limits = { cpus: 0, memoryMb: 512, diskMb: 0, pids: 100 };
        const spec: SandboxSpec = { ...engine.spec({ limits }), directory: join(home, 'sandboxes/singularity/one'), network: 'restricted' };
        /** What one command prints. Its program is killed then. */
        const printed = async (command: string): Promise<string> => {
          const context = { ...found, environment: {}, options };
          const task: Task = { kind: 'singularity', context, spec, action: 'start', commands: [command] };
          const [program = '', ...before] = identity(user, home);
          const client = join(import.meta.dirname, '../../client.ts');
          const words = [...before, process.execPath, client, JSON.stringify(task)];
          const child = spawn(program, words, { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
          const ended = once(child, 'close');
          try {
            for await (const line of createInterface(child.stdout)) return JSON.parse(line)[0];
            throw new Error('the client ended without an answer');
          } finally {
            child.kill('SIGKILL');
            await ended;
            await until('its sandbox is gone', () => processesWith(image).length === 0);
          }
        };
        const status =
          "id -un; stat -c %U . ~; grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status; unshare -U true 2>/dev/null || echo refused";
        // Nothing but its own user keeps that user from removing the files.
        const trap = 'mkdir -p /tmp/a/b /var/tmp/a/b; chmod 0 /tmp/a /var/tmp/a';
        expect(await printed(`${trap}; echo $(${status})`)).toMatch(/^agent agent agent CapEff: 0{16} NoNewPrivs: 1 Seccomp: 2 refused\n$/);
        const answer = await printed('echo $(ls -A /tmp /var/tmp) $(ulimit -Hd) $(ulimit -Hu)');
        // Where this user has no control groups, as here, each process has limits, and cannot raise them.
        const [, processes] = /^\/tmp: \/var\/tmp: 524288 (\d+)\n$/.exec(answer) ?? [answer];
        expect(Number(processes)).toBeGreaterThan(100);
        expect(Number(processes)).toBeLessThan(200);
        expect(readdirSync(join(spec.directory, 'tmp'))).toHaveLength(1);
      });
    });
  },
  { title: 'attacks on the singularity backend', options, image },
);
