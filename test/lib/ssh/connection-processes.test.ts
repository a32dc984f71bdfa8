import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type SshCommand, SshConnection, type SshOptions } from '../../../src/lib/ssh/connection.ts';
import { SshPool } from '../../../src/lib/ssh/pool.ts';
import { type Behaviour, startFakeSshServer } from '../../fakes/ssh-server.ts';
import { describeNeeding } from '../../needs.ts';
import { startRelay } from '../../relay.ts';
import { makeKey, startSshd, type TestSshd } from '../../sshd.ts';
import { until } from '../../until.ts';

describeNeeding(['sshd'], 'connections by ssh', () => {
  let sshd: TestSshd;
  beforeAll(async () => {
    sshd = await startSshd(['AllowTcpForwarding yes', 'AllowStreamLocalForwarding yes']);
  });
  afterAll(() => sshd.remove());

  const optionsOf = (wishes: Partial<SshOptions> = {}): SshOptions => ({
    target: { user: sshd.user, host: '127.0.0.1', port: sshd.port },
    jumps: [],
    hostKeys: { path: sshd.knownHosts, acceptNew: true },
    keyPath: sshd.key,
    ...wishes,
  });
  const at = (port: number): SshOptions['target'] => ({ user: sshd.user, host: '127.0.0.1', port });

  async function connect(wishes?: Partial<SshOptions>): Promise<SshConnection> {
    const connection = await SshConnection.open(optionsOf(wishes));
    onTestFinished(() => connection.close());
    return connection;
  }

  async function outputOf(command: SshCommand): Promise<string> {
    command.stdin.end();
    return await text(command.stdout);
  }

  function temporary(): string {
    const directory = mkdtempSync(join(tmpdir(), 'hermetic-ssh-test-'));
    // A command whose connection was closed may still write there for a moment.
    onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 10 }));
    return directory;
  }

  describe('a connection to a real sshd', () => {
    it('carries any bytes both ways, keeps the outputs apart, and tells the exit code', async () => {
      const connection = await connect();
      const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 256));
      const command = await connection.exec('cat; echo error >&2; exit 7');
      command.stdin.end(bytes);
      const [stdout, stderr] = await Promise.all([command.stdout.toArray(), text(command.stderr)]);
      expect(Buffer.concat(stdout as Buffer[]).equals(bytes)).toBe(true);
      expect([stderr, await command.exitCode()]).toEqual(['error\n', 7]);
      await command.closed;
      expect(connection.channels).toBe(0);
    });

    it('holds a command up that prints on both outputs when only one is read', async () => {
      const connection = await connect();
      const progress = join(temporary(), 'progress');
      const script = `for ((i = 0; ; i++)); do head -c 100000 /dev/zero >&2; echo x; echo $i >${progress}; done`;
      const command = await connection.exec(`bash -c '${script}'`);
      command.stdout.resume();
      const rounds = (): number => Number(readFileSync(progress, { encoding: 'utf8', flag: 'a+' }) || 0);
      let last = -1;
      const isStill = (): boolean => {
        const [before, now] = [last, rounds()];
        last = now;
        return now > 0 && before === now;
      };
      await until('it stands still', isStill, { everyMs: 500 });
      expect(rounds() * 100_000).toBeLessThan(8_000_000);
      command.stderr.resume();
      const before = rounds();
      await until('it goes on', () => rounds() > before + 50);
      connection.close();
    });

    it('drops the output of a command that was let go, which may go on printing', async () => {
      const connection = await connect();
      const done = join(temporary(), 'done');
      const command = await connection.exec(`head -c 20000000 /dev/zero && echo yes >${done}`);
      command.destroy();
      await command.closed;
      expect(readFileSync(done, 'utf8')).toBe('yes\n');
    });

    it('reaches a socket of the remote machine', async () => {
      const path = join(temporary(), 'socket');
      const server = createServer((socket) => socket.end('hello from the socket')).listen(path);
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      const connection = await connect();
      const socket = await connection.openSocket(path);
      expect(await text(socket)).toBe('hello from the socket');
      socket.destroy();
      await expect(connection.openSocket(`${path}-missing`)).rejects.toMatchObject({ name: 'SshError' });
    });

    it('fails the streams of a command whose connection is cut', async () => {
      const relay = await startRelay({ host: '127.0.0.1', port: sshd.port });
      onTestFinished(() => relay.close());
      const connection = await connect({ target: at(relay.port) });
      const command = await connection.exec('echo started; sleep 100');
      await once(command.stdout, 'data');
      const failed = once(command.stdout, 'error');
      relay.cut();
      expect(await failed).toMatchObject([{ kind: 'lost' }]);
      expect(connection.isOpen).toBe(false);
      await expect(connection.exec('true')).rejects.toMatchObject({ kind: 'lost' });
    });

    it('notices a peer that is silent', async () => {
      const relay = await startRelay({ host: '127.0.0.1', port: sshd.port });
      onTestFinished(() => relay.close());
      const connection = await connect({ target: at(relay.port), keepAliveMs: 100 });
      // Answers are enough to stay.
      for (let round = 0; round < 8; round++) expect(await outputOf(await connection.exec('echo here; sleep 0.1'))).toBe('here\n');
      relay.hush();
      expect(await connection.over).toMatchObject({ kind: 'lost', message: expect.stringContaining('does not answer') });
    });
  });

  describe('authenticating', () => {
    it('opens a key with its passphrase, and says what is wrong with one that cannot be used', async () => {
      const directory = temporary();
      const [locked, open, missing] = [join(directory, 'locked'), join(directory, 'open'), join(directory, 'missing')];
      makeKey(locked, 'correct horse');
      writeFileSync(open, readFileSync(sshd.key), { mode: 0o600 });
      const attempt = (wishes: Partial<SshOptions>): Promise<unknown> => connect(wishes).then(() => 'let in');
      await expect(attempt({ keyPath: locked })).rejects.toMatchObject({ kind: 'key-file', message: expect.stringContaining('encrypted') });
      await expect(attempt({ keyPath: locked, passphrase: 'wrong' })).rejects.toMatchObject({
        kind: 'key-file',
        message: /cannot be decrypted/,
      });
      // The right one, but a key that nobody has authorized.
      await expect(attempt({ keyPath: locked, passphrase: 'correct horse' })).rejects.toMatchObject({ kind: 'authentication' });
      await expect(attempt({ keyPath: missing })).rejects.toMatchObject({ kind: 'key-file', message: expect.stringContaining('no key') });
      await expect(attempt({ keyPath: `${sshd.key}.pub` })).rejects.toMatchObject({ kind: 'key-file' });
      await expect(attempt({ keyPath: undefined })).rejects.toMatchObject({
        kind: 'key-file',
        message: expect.stringContaining('neither'),
      });
      expect(await attempt({ keyPath: open })).toBe('let in');
      chmodSync(open, 0o640);
      await expect(attempt({ keyPath: open })).rejects.toMatchObject({ kind: 'key-file', hint: expect.stringContaining('chmod 600') });
    });

    it('uses the keys of an agent, also for a key file that is locked', async () => {
      const directory = temporary();
      const agentSocket = join(directory, 'agent');
      const locked = join(directory, 'locked');
      makeKey(locked, 'correct horse');
      const agent = spawn('ssh-agent', ['-D', '-a', agentSocket], { stdio: 'ignore' });
      onTestFinished(() => void agent.kill());
      await until('the agent has the key', async () => {
        const adding = spawn('ssh-add', ['-q', sshd.key], { env: { SSH_AUTH_SOCK: agentSocket, PATH: process.env.PATH }, stdio: 'ignore' });
        return (await once(adding, 'exit'))[0] === 0;
      });
      for (const keyPath of [undefined, locked]) expect((await connect({ keyPath, agentSocket })).isOpen).toBe(true);
      await expect(connect({ keyPath: undefined, agentSocket: join(directory, 'none') })).rejects.toMatchObject({
        kind: 'authentication',
        message: expect.stringContaining('agent'),
      });
    });
  });

  describe('the key of the host', () => {
    it('is remembered the first time, and another one is refused from then on', async () => {
      const changing = await startSshd();
      onTestFinished(() => changing.remove());
      const options = { target: at(changing.port), keyPath: changing.key, hostKeys: { path: changing.knownHosts, acceptNew: true } };
      await connect(options);
      const known = readFileSync(changing.knownHosts, 'utf8');
      expect(known).toMatch(new RegExp(`^\\[127\\.0\\.0\\.1\\]:${changing.port} ssh-ed25519 \\S+\n$`));
      await changing.stop();
      await changing.start({ newHostKey: true });
      await expect(connect(options)).rejects.toMatchObject({ kind: 'host-key', message: /has changed.*SHA256:.*SHA256:/ });
      expect(readFileSync(changing.knownHosts, 'utf8')).toBe(known);
      expect(changing.log().match(/Accepted publickey/g)).toHaveLength(1);
    });

    it('is verified at every hop', async () => {
      const far = await startSshd();
      onTestFinished(() => far.remove());
      // The far one only knows its own key.
      writeFileSync(join(far.directory, 'authorized_keys'), readFileSync(`${sshd.key}.pub`));
      const path = join(temporary(), 'known_hosts');
      const options = { target: at(far.port), jumps: [at(sshd.port)], hostKeys: { path, acceptNew: true } };
      const connection = await connect(options);
      expect(await outputOf(await connection.exec('echo from afar'))).toBe('from afar\n');
      expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(3);
      expect(far.log()).toMatch(/Accepted publickey/);
      const [first = ''] = readFileSync(path, 'utf8').split('\n');
      writeFileSync(path, `${first}\n`);
      await expect(connect({ ...options, hostKeys: { path, acceptNew: false } })).rejects.toMatchObject({
        message: expect.stringContaining(`:${far.port} is not in`),
      });
      await expect(connect({ ...options, target: at(1) })).rejects.toMatchObject({
        kind: 'unreachable',
        message: expect.stringContaining(`from ${sshd.user}@`),
      });
    });
  });

  describe('a pool of connections', () => {
    it('opens a further connection when the server starts no more commands on one, and none twice', async () => {
      const narrow = await startSshd(['MaxSessions 3']);
      onTestFinished(() => narrow.remove());
      const pool = new SshPool(
        optionsOf({ target: at(narrow.port), keyPath: narrow.key, hostKeys: { path: narrow.knownHosts, acceptNew: true } }),
      );
      const release = pool.hold();
      const marks = join(temporary(), 'marks');
      const commands = await Promise.all(Array.from({ length: 10 }, (_, index) => pool.exec(`echo ${index} >>${marks}; cat`)));
      expect(pool.connections).toBe(4);
      await Promise.all(commands.map(outputOf));
      const started = readFileSync(marks, 'utf8').trim().split('\n').map(Number);
      expect(started.sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      release();
      await until('all are closed', () => pool.connections === 0);
    });

    it('rejects when the server starts no command at all', async () => {
      const none = await startSshd(['MaxSessions 0']);
      onTestFinished(() => none.remove());
      const pool = new SshPool(
        optionsOf({ target: at(none.port), keyPath: none.key, hostKeys: { path: none.knownHosts, acceptNew: true } }),
      );
      onTestFinished(pool.hold());
      await expect(pool.exec('true')).rejects.toMatchObject({ kind: 'full' });
    });

    it('connects again after the server was restarted, and waits for it', async () => {
      const restarted = await startSshd();
      onTestFinished(() => restarted.remove());
      const options = optionsOf({
        target: at(restarted.port),
        keyPath: restarted.key,
        hostKeys: { path: restarted.knownHosts, acceptNew: true },
      });
      const pool = new SshPool(options);
      onTestFinished(pool.hold());
      expect(await outputOf(await pool.exec('echo before'))).toBe('before\n');
      await restarted.stop();
      await until('the end is noticed', () => pool.connections === 0);
      const later = pool.exec('echo after');
      await restarted.start();
      expect(await outputOf(await later)).toBe('after\n');
    });

    it('does not try a refused key again and again', async () => {
      const stranger = join(temporary(), 'stranger');
      makeKey(stranger);
      const pool = new SshPool(optionsOf({ keyPath: stranger }));
      onTestFinished(pool.hold());
      const attempts = (): number => sshd.log().match(/Connection from/g)?.length ?? 0;
      const before = attempts();
      for (let round = 0; round < 5; round++) await expect(pool.exec('true')).rejects.toMatchObject({ kind: 'authentication' });
      expect(attempts() - before).toBe(1);
    });
  });

  describe('a server that misbehaves', () => {
    const flood = (write: (data: string) => unknown): void => {
      const piece = 'x'.repeat(65_537);
      const timer = setInterval(() => write(piece), 1);
      onTestFinished(() => clearInterval(timer));
    };
    const cases: [string, Behaviour, RegExp][] = [
      ['says nothing', { raw: () => undefined }, /does not finish the handshake/],
      ['hangs up at once', { raw: (socket) => void socket.destroy() }, /hung up/],
      ['speaks another protocol', { raw: (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n') }, /hung up|does not speak ssh/],
      ['floods before the handshake', { raw: (socket) => flood((data) => socket.write(data)) }, /does not speak ssh|does not finish/],
      ['refuses the key', { authentication: 'refuse' }, /did not accept the key/],
      ['is silent about the key', { authentication: 'silent' }, /does not answer the authentication/],
      ['hangs up over the key', { authentication: 'hang-up' }, /hung up/],
      ['refuses sessions', { session: 'refuse' }, /refused to open a command/],
      ['hangs up over a session', { session: 'hang-up' }, /was cut|broke/],
      ['refuses the command', { exec: 'refuse' }, /refused to open a command/],
    ];
    it.each(cases)('ends in words when it %s', async (_, behaviour, words) => {
      const server = await startFakeSshServer(behaviour);
      onTestFinished(() => server.close());
      const path = join(temporary(), 'known_hosts');
      const attempt = async (): Promise<void> => {
        const connection = await connect({ target: at(server.port), hostKeys: { path, acceptNew: true }, timeoutMs: 2_000 });
        await connection.exec('true');
      };
      await expect(attempt()).rejects.toMatchObject({ name: 'SshError', message: words, hint: expect.stringMatching(/\w/) });
    });

    it('is heard in full when everything about a command comes in one packet', async () => {
      const server = await startFakeSshServer({
        exec: (channel) => {
          channel.write('out');
          channel.stderr.write('err');
          channel.exit(5);
          channel.end();
        },
      });
      onTestFinished(() => server.close());
      const path = join(temporary(), 'known_hosts');
      const connection = await connect({ target: at(server.port), hostKeys: { path, acceptNew: true } });
      const command = await connection.exec('true');
      expect([await text(command.stdout), await text(command.stderr), await command.exitCode()]).toEqual(['out', 'err', 5]);
      await command.closed;
    });

    it('is given up when it sends more than its window, and nothing of it is kept', async () => {
      const server = await startFakeSshServer({
        exec: (channel) => {
          // As if the client had allowed it.
          (channel as unknown as { outgoing: { window: number } }).outgoing.window = 2 ** 31;
          flood((data) => channel.write(data));
        },
      });
      onTestFinished(() => server.close());
      const path = join(temporary(), 'known_hosts');
      const connection = await connect({ target: at(server.port), hostKeys: { path, acceptNew: true } });
      const command = await connection.exec('true');
      expect(await connection.over).toMatchObject({ kind: 'lost', message: expect.stringContaining('more than it may') });
      expect(command.stdout.destroyed).toBe(true);
    });
  });
});
