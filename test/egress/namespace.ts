import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { EgressRules, NamespaceEntrance } from '../../src/core/egress.ts';
import { until } from '../until.ts';

export const inside = join(import.meta.dirname, 'inside.mjs');
export const noRules: EgressRules = { allow: [], deny: [], private: [], directPorts: [22, 443], notesAllowed: false };

export interface NamespaceOptions {
  /** false: the loopback interface stays down. */
  isUp?: boolean;
  /** A user and a user namespace of its own. */
  uid?: number;
}

/** An empty network namespace, which lasts as long as a process in it. */
export class Namespace {
  readonly #holder: ChildProcess;
  readonly #hasUsers: boolean;

  private constructor(holder: ChildProcess, hasUsers: boolean) {
    this.#holder = holder;
    this.#hasUsers = hasUsers;
  }

  static async make({ isUp = true, uid }: NamespaceOptions = {}): Promise<Namespace> {
    const as = uid === undefined ? ['unshare', '--net'] : [...asUser(uid), 'unshare', '--user', '--map-root-user', '--net'];
    const [file = '', ...rest] = [...as, 'bash', '-c', isUp ? 'ip link set lo up; echo; read' : 'echo; read'];
    const holder = spawn(file, rest, { stdio: ['pipe', 'pipe', 'inherit'], cwd: '/' });
    await once(holder.stdout as NodeJS.EventEmitter, 'data');
    return new Namespace(holder, uid !== undefined);
  }

  get pid(): number {
    return this.#holder.pid ?? 0;
  }

  get entrance(): NamespaceEntrance {
    return entranceOf(this.place);
  }

  /** For `entranceOf`. */
  get place(): string {
    return `${this.pid} ${this.#hasUsers ? 'users' : ''}`;
  }

  /** What a program inside prints. */
  async run(file: string, ...args: string[]): Promise<string> {
    const [command = '', ...words] = [...this.entrance.command, file, ...args];
    return (await promisify(execFile)(command, words, { cwd: '/' })).stdout;
  }

  /** What arrives at a client inside that sends these lines, each after an answer. */
  async client(protocol: 'tcp' | 'udp', address: string, port: number, ...lines: string[]): Promise<string> {
    return await this.run(process.execPath, inside, protocol, address, String(port), ...lines);
  }

  /** A client of the proxy, once `text` has arrived there. It stays after its last line, and returns all that arrived until it was cut off. */
  async stayingClient(text: string, ...lines: string[]): Promise<() => Promise<string>> {
    const [command = '', ...words] = [...this.entrance.command, process.execPath, inside, 'tcp', '127.0.0.1', '3128', ...lines, 'stay'];
    const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'], cwd: '/' });
    let arrived = '';
    child.stdout.on('data', (data: Buffer) => (arrived += data.toString()));
    const closed = once(child, 'close');
    await until(`"${text}" arrived`, () => arrived.includes(text));
    return async () => {
      await closed;
      return arrived;
    };
  }

  async remove(): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    this.#holder.kill('SIGKILL');
    await once(this.#holder, 'close');
  }
}

export function entranceOf(place: string): NamespaceEntrance {
  const [pid = '', users] = place.split(' ');
  return { command: ['nsenter', '--target', pid, ...(users ? ['--user', '--preserve-credentials'] : []), '--net'] };
}

export function asUser(uid: number): string[] {
  return ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--inh-caps=-all', '--'];
}
