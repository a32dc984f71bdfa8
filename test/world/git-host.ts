import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { once, type Site } from './registries.ts';
import { serveSsh } from './ssh-server.ts';

/** The repository `/team/project.git`, over HTTPS and SSH. */
export class GitHost {
  readonly #directory: string;
  readonly #root: () => string;

  constructor(directory: string) {
    this.#directory = directory;
    this.#root = once(() => this.#makeRepository());
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

  /** Serves repositories for reading, and nothing else. */
  acceptSsh(socket: Socket): void {
    serveSsh(socket, (words) => {
      const path = /^git-upload-pack '(\/[a-z/]+\.git)'$/.exec(words)?.[1];
      return path === undefined ? undefined : ['git', 'upload-pack', '--strict', join(this.#root(), path)];
    });
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
