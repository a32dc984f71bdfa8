import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Arrivals } from './records.ts';
import { once, type Site } from './registries.ts';

/** Repositories, among them `/team/project.git`, over HTTPS and, where an SSH server is installed, over SSH. */
export class GitHost {
  readonly #directory: string;
  readonly #root: () => string;
  readonly #sshConfiguration: string | undefined;

  constructor(directory: string) {
    this.#directory = directory;
    this.#root = once(() => this.#makeRepository());
    this.#sshConfiguration = hasSshServer ? configureSsh(directory) : undefined;
  }

  /** Runs git's own server for each request, as CGI. */
  readonly site: Site = (request, response, path) => {
    const child = spawn('git', ['http-backend'], { env: this.#environmentOf(request, path), stdio: ['pipe', 'pipe', 'inherit'] });
    request.pipe(child.stdin);
    child.stdin.on('error', () => undefined);
    let head: Buffer | undefined = Buffer.alloc(0);
    child.stdout.on('data', (data: Buffer) => {
      if (!head) return void response.write(data);
      head = Buffer.concat([head, data]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      for (const line of head.toString('latin1', 0, end).split('\r\n')) {
        const [name = '', value = ''] = line.split(': ');
        if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.write(head.subarray(end + 4));
      head = undefined;
    });
    child.stdout.on('end', () => response.end());
  };

  #environmentOf(request: IncomingMessage, path: string): Record<string, string> {
    const header = (name: string): string => String(request.headers[name] ?? '');
    return {
      PATH: '/usr/bin:/bin',
      GIT_PROJECT_ROOT: this.#root(),
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_PROTOCOL: header('git-protocol'),
      PATH_INFO: path,
      QUERY_STRING: new URL(request.url ?? '/', 'http://world').search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: header('content-type'),
      CONTENT_LENGTH: header('content-length'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      REMOTE_USER: 'somebody',
      REMOTE_ADDR: '203.0.113.1',
    };
  }

  /** The server speaks first, as SSH servers do. Without a real one, it sends its greeting and echoes. */
  acceptSsh(socket: Socket, arrivals: Arrivals): void {
    socket.once('data', (data) => arrivals.add({ kind: 'bytes', port: 22, text: data.toString('latin1', 0, 200) }));
    if (this.#sshConfiguration === undefined) {
      socket.write('SSH-2.0-test\r\n');
      socket.pipe(socket);
      return;
    }
    this.#root();
    const child = spawn(sshdProgram, ['-i', '-e', '-f', this.#sshConfiguration], { stdio: ['pipe', 'pipe', 'ignore'] });
    socket.pipe(child.stdin).on('error', () => undefined);
    child.stdout.pipe(socket);
    socket.on('close', () => child.kill());
  }

  #makeRepository(): string {
    const root = join(this.#directory, 'git');
    const work = join(this.#directory, 'git-work');
    mkdirSync(join(root, 'team'), { recursive: true });
    mkdirSync(work);
    writeFileSync(join(work, 'readme'), 'tiny-git works\n');
    const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false'];
    const git = (...args: string[]): void => void execFileSync('git', ['-C', work, ...author, ...args], { stdio: 'ignore' });
    git('init', '-q', '-b', 'main');
    git('add', '.');
    git('commit', '-q', '-m', 'First');
    git('clone', '-q', '--bare', '.', join(root, 'team/project.git'));
    return root;
  }
}

/** The key that opens the SSH server, in the directory of the world. */
export const sshKeyName = 'ssh-key';
const sshdProgram = '/usr/sbin/sshd';

export const hasSshServer = existsSync(sshdProgram);

/** Lets the owner of the key in as the user of the tests, to serve repositories only. */
function configureSsh(directory: string): string {
  const hostKey = join(directory, 'host-key');
  for (const file of [hostKey, join(directory, sshKeyName)]) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const configuration = join(directory, 'sshd_config');
  const lines = [
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${join(directory, `${sshKeyName}.pub`)}`,
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin prohibit-password',
    'PasswordAuthentication no',
    `ForceCommand ${join(import.meta.dirname, 'git-over-ssh.bash')} ${join(directory, 'git')}`,
    'PidFile none',
    '',
  ];
  writeFileSync(configuration, lines.join('\n'));
  return configuration;
}
