import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** A real sshd on loopback, with a configuration, keys and a home directory of its own. */
export interface TestSshd {
  readonly port: number;
  readonly user: string;
  /** Everything of it is below this directory. */
  readonly directory: string;
  /** The home of who logs in. */
  readonly home: string;
  /** A private key that it lets in. */
  readonly key: string;
  /** A file of known hosts that starts without an entry. */
  readonly knownHosts: string;
  /** Keys of `terminal`. */
  readonly options: Readonly<Record<string, unknown>>;
  /** What it has logged. */
  log(): string;
  stop(): Promise<void>;
  /** With all that it has started; on the same port, with a new host key when asked for. */
  start(wishes?: { newHostKey?: boolean }): Promise<void>;
  /** Stopped, and its files removed. */
  remove(): Promise<void>;
}

const sshdProgram = '/usr/sbin/sshd';

/** `lines` are further lines of sshd_config. */
export async function startSshd(lines: readonly string[] = []): Promise<TestSshd> {
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-sshd-'));
  const path = (name: string): string => join(directory, name);
  const home = path('home');
  mkdirSync(home, { mode: 0o700 });
  makeKey(path('client'));
  writeFileSync(path('known_hosts'), '', { mode: 0o600 });
  const publicKey = readFileSync(path('client.pub'), 'utf8');
  // sshd takes the home from the list of users: only the variable can differ.
  writeFileSync(path('authorized_keys'), `environment="HOME=${home}" ${publicKey}`);
  const port = await freePort();
  const configure = (): void => {
    const config = [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${path('host')}`,
      `AuthorizedKeysFile ${path('authorized_keys')}`,
      `PidFile ${path('pid')}`,
      'PermitUserEnvironment yes',
      'UsePAM no',
      'StrictModes no',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'PermitRootLogin yes',
      'LogLevel VERBOSE',
      'Subsystem sftp internal-sftp',
      ...lines,
    ];
    writeFileSync(path('config'), `${config.join('\n')}\n`);
  };
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  makeKey(path('host'));
  configure();
  let child: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    const running = child;
    child = undefined;
    if (running?.exitCode !== null || running.signalCode !== null) return;
    // With all that it still had to log.
    const ended = once(running, 'close');
    running.kill('SIGKILL');
    await ended;
  };
  const start = async ({ newHostKey = false } = {}): Promise<void> => {
    if (newHostKey) {
      rmSync(path('host'));
      makeKey(path('host'));
    }
    // Security: in a process namespace of its own. A command that kills all it can reach must not reach this machine, and all of it ends with its first process.
    const args = [
      '--pdeathsig',
      'KILL',
      'unshare',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      sshdProgram,
      '-D',
      '-e',
      '-f',
      path('config'),
    ];
    child = spawn('setpriv', args, { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env.PATH } });
    child.stderr?.on('data', (data: Buffer) => appendFileSync(path('log'), data));
    await until('sshd listens', () => answers(port));
  };
  appendFileSync(path('log'), '');
  await start();
  const { username: user } = userInfo();
  const options = {
    ssh_host: '127.0.0.1',
    ssh_port: port,
    ssh_user: user,
    ssh_key: path('client'),
    ssh_known_hosts: path('known_hosts'),
  };
  return {
    port,
    user,
    directory,
    home,
    key: path('client'),
    knownHosts: path('known_hosts'),
    options,
    log: () => readFileSync(path('log'), 'utf8'),
    stop,
    start,
    remove: async () => {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export function makeKey(path: string, passphrase = ''): void {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-C', 'test', '-f', path]);
  chmodSync(path, 0o600);
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}
