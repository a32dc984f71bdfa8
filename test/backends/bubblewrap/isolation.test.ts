import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hostUserOf } from '../../../src/backends/namespaces/stage.ts';
import { itNeeding } from '../../needs.ts';
import { commandLines } from '../../processes.ts';
import {
  descendants,
  describeBubblewrap,
  eventually,
  isRoot,
  makeDirectories,
  ordinaryUser,
  people,
  run,
  start,
  statusOf,
} from './open.ts';

describeBubblewrap('a bubblewrap sandbox', () => {
  describe.each(people)('started by %s', (person) => {
    it('runs commands as an unprivileged user without capabilities, inside and on the host', async () => {
      const running = await start(person, 'id -un; id -u; id -g; hostname; pwd; sleep 300');
      const sleeps = (): boolean => statusOf(descendants(running.pid).at(-1) ?? 0).Name === 'sleep';
      expect(await eventually(sleeps)).toBe(true);
      const inner = descendants(running.pid);
      expect(inner).toHaveLength(2);
      const user = person === 'root' ? hostUserOf(running.name) : ordinaryUser;
      for (const pid of [running.pid, ...inner]) expect(statusOf(pid).Uid?.split('\t')).toEqual(Array(4).fill(String(user)));
      for (const pid of [running.pid, ...inner]) expect(statusOf(pid).Gid?.split('\t')).toEqual(Array(4).fill(String(user)));
      const command = statusOf(inner.at(-1) ?? 0);
      expect(command).toMatchObject({ NoNewPrivs: '1', Seccomp: '2', Groups: '' });
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) expect(Number(`0x${command[set]}`)).toBe(0);
      running.kill();
      expect((await running.ended).stdout).toBe('agent\n1000\n1000\nsandbox\n/workspace\n');
    });

    it('shows nothing of the host but its programs', async () => {
      const secret = mkdtempSync(join(tmpdir(), 'hermetic-secret-'));
      writeFileSync(join(secret, 'file'), 'secret');
      chmodSync(secret, 0o755);
      const paths = [
        '/etc/shadow',
        '/etc/ssh',
        '/root',
        '/sys',
        '/opt',
        '/srv',
        '/mnt',
        '/var/lib',
        '/boot',
        '/home/*/.ssh',
        secret,
        `/proc/${process.pid}`,
      ];
      const { stdout } = await run(
        person,
        `ls -A /; for path in ${paths.join(' ')}; do [ -e "$path" ] && echo "sees $path"; done; ls -A /tmp /var/tmp/; echo /proc/[0-9]*`,
      );
      rmSync(secret, { recursive: true });
      expect(stdout).not.toContain('sees');
      const [processes, ...lines] = stdout.trimEnd().split('\n').reverse();
      expect(processes?.split(' ').length).toBeLessThanOrEqual(4);
      const links = ['bin', 'lib', 'lib32', 'lib64', 'libx32', 'sbin'];
      const top = lines
        .reverse()
        .slice(0, lines.indexOf('/tmp:'))
        .filter((name) => name !== '' && !links.includes(name));
      expect(top).toEqual(['dev', 'etc', 'home', 'proc', 'run', 'tmp', 'usr', 'var', 'workspace']);
      expect(lines.slice(lines.indexOf('/tmp:'))).toEqual(['/tmp:', '', '/var/tmp/:']);
    });

    it('names neither the host nor its users in /etc', async () => {
      const { stdout } = await run(
        person,
        'cat /etc/hostname /etc/passwd /etc/group /etc/hosts; wc -c < /etc/resolv.conf; grep -rls PRIVATE /etc; find /etc ! -readable',
      );
      expect(stdout.split('\n').filter((line) => line.includes(':'))).toEqual([
        'root:x:0:0:root:/nonexistent:/usr/sbin/nologin',
        'agent:x:1000:1000:agent:/home/agent:/bin/bash',
        'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
        'root:x:0:',
        'agent:x:1000:',
        'nogroup:x:65534:',
        '::1 localhost ip6-localhost ip6-loopback',
      ]);
      expect(stdout).toMatch(/^sandbox\n/);
      expect(stdout).toMatch(/\n0\n$/);
    });

    it('allows writing to workspace, home and temporary directories only', async () => {
      const { stdout, stderr } = await run(
        person,
        'for d in /workspace "$HOME" /tmp /var/tmp /dev/shm /run / /etc /usr /usr/bin /dev /run/hermetic /proc/sys/kernel /home; do touch "$d/x" 2>/dev/null && echo "$d"; done; mkdir /tmp/s && ln -s x /tmp/s/l',
      );
      expect(stderr).toBe('');
      expect(stdout.trim().split('\n')).toEqual(['/workspace', '/home/agent', '/tmp', '/var/tmp', '/dev/shm', '/run']);
    });

    it('passes the environment without showing it to other users of the host', async () => {
      const value = randomBytes(12).toString('hex');
      const script = 'env; echo; touch /workspace/printed; sleep 300';
      const running = await start(person, script, { env: { SECRET: value, PATH: '/usr/bin:/bin' } });
      await eventually(() => existsSync(join(running.directory, 'workspace', 'printed')));
      const everything = commandLines();
      expect(everything).toContain('bwrap --args');
      expect(everything).not.toContain(value);
      expect(everything).not.toContain(running.directory);
      running.kill();
      const lines = (await running.ended).stdout.trim().split('\n');
      const names = lines.map((line) => line.split('=')[0]).filter((name) => !['SHLVL', '_', 'PWD', 'OLDPWD'].includes(name ?? ''));
      const installing = ['NPM_CONFIG_PREFIX', 'PIP_BREAK_SYSTEM_PACKAGES', 'PYTHONUSERBASE'];
      expect(names.sort()).toEqual(['HOME', 'LANG', 'LOGNAME', 'PATH', 'SECRET', 'SHELL', 'USER', ...installing].sort());
      expect(lines).toContain(`SECRET=${value}`);
      expect(lines).toContain('PATH=/usr/bin:/bin');
    });

    it('passes no inherited descriptor of the product into the sandbox', async () => {
      const inherited = ['bash', '-c', 'exec 200</ 9</; exec "$@"', 'bash'];
      const running = await start(person, 'for process in 1 $$; do ls -l /proc/$process/fd; done; ls /proc/self/fd/200/', {}, inherited);
      const { stdout } = await running.ended;
      expect(stdout.match(/ -> socket:/g)).toHaveLength(6);
      expect(stdout).not.toMatch(/ -> \//);
      expect(stdout).not.toContain('root');
    });

    it("runs neither startup files nor programs of the session's PATH before the limits are set", async () => {
      const { directory: _, ...paths } = makeDirectories(person);
      const fake = '#!/bin/sh\necho fake >> /workspace/ran; exec /bin/bash "$@"\n';
      writeFileSync(join(paths.home, '.bashrc'), 'echo startup >> /workspace/ran; ulimit -d; exec 0</dev/null\n');
      writeFileSync(join(paths.workspace, 'bash'), fake, { mode: 0o755 });
      const env = { PATH: '/workspace:/usr/bin:/bin', BASH_ENV: '/home/agent/.bashrc' };
      if (isRoot && person === 'ordinary') execFileSync('chown', ['-R', String(ordinaryUser), paths.home, paths.workspace]);
      const { stdout } = await run(person, '', { ...paths, env, command: ['/bin/cat', '/workspace/ran'] });
      expect(stdout).toBe('');
    });

    it('lets a command write a pipe in the run directory but not replace it', async () => {
      const running = await start(
        person,
        'until [ -p /run/hermetic/pipe ]; do sleep 0.02; done; rm -f /run/hermetic/pipe 2>&1; ln -sf /etc/passwd /run/hermetic/other 2>&1; echo through > /run/hermetic/pipe',
      );
      const pipe = join(running.directory, 'run/pipe');
      execFileSync('sh', ['-c', 'umask 077; mkfifo "$1".new && chmod 660 "$1".new && mv "$1".new "$1"', 'sh', pipe], asOwner(person));
      expect(execFileSync('timeout', ['60', 'cat', pipe], { encoding: 'utf8' })).toBe('through\n');
      expect((await running.ended).stdout.match(/Read-only file system/g)).toHaveLength(2);
    });

    it('mounts directories with any name, read-only where asked', async () => {
      const source = mkdtempSync(join(tmpdir(), 'hermetic-mount-'));
      const odd = join(source, 'a b\n#"\\\'$(x)é');
      mkdirSync(odd);
      writeFileSync(join(odd, 'file'), 'content');
      for (const path of [source, odd]) chmodSync(path, 0o777);
      const mounts = [
        { source: odd, target: '/workspace/below', readOnly: false },
        { source: odd, target: '/data/r o', readOnly: true },
        { source: join(odd, 'file'), target: '/data/one', readOnly: true },
      ];
      const { stdout } = await run(person, 'cat "/data/r o/file" /data/one; touch /workspace/below/new; touch "/data/r o/x" 2>&1', {
        mounts,
      });
      expect(stdout).toMatch(/^contentcontent.*Read-only file system/);
      expect(execFileSync('ls', [odd], { encoding: 'utf8' })).toBe('file\nnew\n');
      rmSync(source, { recursive: true });
    });

    it('isolates the network from the loopback of the host', async () => {
      const server = createServer((socket) => socket.end('reached')).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as { port: number };
      const { stdout } = await run(
        person,
        `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo reached; tail -n +3 /proc/net/dev | cut -d: -f1`,
      );
      server.close();
      expect(stdout.trim()).toBe('lo');
    });

    it('starts a sandbox when the product has a umask of 077', async () => {
      const { stdout } = await run(person, 'id -un; cat /etc/hostname; touch a', { umask: 0o077 });
      expect(stdout).toBe('agent\nsandbox\n');
    });

    it.each(['/', '/proc/x', '/dev', '/run/hermetic/../hermetic', '/etc', '/usr/'])('refuses a mount at %s', async (target) => {
      const refused = start(person, 'true', { mounts: [{ source: '/usr', target, readOnly: true }] });
      await expect(refused).rejects.toMatchObject({ code: 'config/bad-value' });
    });

    it('refuses a NUL byte that would smuggle in an option', async () => {
      const refused = start(person, 'true', { env: { A: 'a\0--bind\0/\0/host' } });
      await expect(refused).rejects.toMatchObject({ code: 'sandbox/open-failed' });
    });

    it('names the missing source of a mount', async () => {
      const refused = start(person, 'true', { mounts: [{ source: '/does/not/exist', target: '/data', readOnly: true }] });
      await expect(refused).rejects.toMatchObject({ code: 'sandbox/open-failed', message: expect.stringContaining('/does/not/exist') });
    });
  });

  itNeeding(['root'], 'gives each sandbox a host user of its own, who cannot read the files of another', async () => {
    const neighbour = await start('root', 'echo secret > /workspace/file; chmod 644 /workspace/file; sleep 300');
    const file = join(neighbour.directory, 'workspace/file');
    expect(await eventually(() => existsSync(file) && readFileSync(file, 'utf8') === 'secret\n')).toBe(true);
    const mounts = [{ source: neighbour.directory, target: '/neighbour', readOnly: false }];
    // Even with the directory mounted, its user is another one.
    const { stdout } = await run('root', `cat ${file} /neighbour/workspace/file 2>&1`, { mounts });
    neighbour.kill();
    await neighbour.ended;
    expect(stdout).not.toContain('secret');
    expect(stdout).toContain('No such file');
    expect(hostUserOf('a')).not.toBe(hostUserOf('b'));
    expect(readFileSync(file, 'utf8')).toBe('secret\n');
  });

  itNeeding(['root'], 'takes over a workspace of another user without following links', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'hermetic-outside-'));
    const { directory: _, ...paths } = makeDirectories('root');
    execFileSync('bash', [
      '-c',
      'mkdir "$1"/d; echo x > "$1"/d/f; ln -s "$2" "$1"/link; chown -Rh 4242 "$1"',
      'bash',
      paths.workspace,
      outside,
    ]);
    const { stdout } = await run('root', 'stat -c %U . d d/f link; echo y >> d/f', paths);
    expect(stdout).toBe('agent\n'.repeat(4));
    expect(execFileSync('stat', ['-c', '%u', outside], { encoding: 'utf8' })).toBe('0\n');
    rmSync(outside, { recursive: true });
  });

  itNeeding(['root'], 'leaves no mount on the host, nor a record of one', async () => {
    const running = await start('root', 'sleep 300');
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain('/run/hermetic');
    if (existsSync('/run/mount/utab')) expect(readFileSync('/run/mount/utab', 'utf8')).not.toContain(running.directory);
    running.kill();
    await running.ended;
  });
});

function asOwner(person: (typeof people)[number]): { uid?: number; gid?: number } {
  return isRoot && person === 'ordinary' ? { uid: ordinaryUser, gid: ordinaryUser } : {};
}
