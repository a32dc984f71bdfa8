import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from 'vitest';
import { findProgram } from '../../src/backends/programs.ts';
import { lackOf } from '../needs.ts';
import { describeUnless } from '../required.ts';
import { joinPlaces } from './join.ts';
import type { AnswerMessage, Arrival, NameAnswer, Order } from './records.ts';
import type { Task } from './server.ts';

const run = promisify(execFile);

/** Where every name leads that has no answer of its own. The documentation's addresses that count as public ones. */
export const worldAddress = '203.0.113.10';
/** An address of the gateway itself. */
export const gatewayAddress = '203.0.113.1';
const nameServer = '203.0.113.53';
/** Ports of the world that echo, besides 22, 80, 443 and 8443. */
const echoPorts = [25, 3128, 5432, 8080] as const;
/** Ports of the gateway where no sandbox may arrive. */
export const baitPorts = [7070, 8080] as const;

/**
 * A small internet for one test file: a namespace for the gateway under test, and one in which every address of IPv4 and IPv6 answers, so that
 * nothing the gateway dials stays unseen. Both have no name and live as long as their process, so that nothing is left of a test that is killed.
 */
export class World {
  /** Keys, packages and repositories of the world, and the files that the gateway has in /etc. */
  readonly directory = mkdtempSync(join(tmpdir(), 'hermetic-world-'));
  readonly abstractSocket = `hermetic-bait-${randomBytes(6).toString('hex')}`;
  readonly #world: Namespace;
  readonly #gateway: Namespace;
  readonly #shared: Server[] = [];

  private constructor() {
    chmodSync(this.directory, 0o755);
    const { directory, abstractSocket } = this;
    this.#world = new Namespace({ role: 'world', directory, address: worldAddress, nameServer, echoPorts });
    this.#gateway = new Namespace({ role: 'gateway', baitPorts, abstractSocket });
  }

  static async start(): Promise<World> {
    const world = new World();
    try {
      await world.#connect();
      return world;
    } catch (error) {
      await world.close();
      throw error;
    }
  }

  /** The certificate that signs those of the world. */
  get authority(): string {
    return readFileSync(join(this.directory, 'ca.pem'), 'utf8');
  }

  /** Runs the words after it on the gateway: in its network namespace, with the name server of the world. */
  get command(): readonly string[] {
    const script = join(import.meta.dirname, 'enter-gateway.bash');
    const enter = ['nsenter', `--net=/proc/${this.#gateway.pid}/ns/net`, '--', 'unshare', '--mount', '--'];
    return [...enter, 'bash', script, this.directory];
  }

  /** All that arrived in the world since it was asked for last. */
  async arrivals(): Promise<Arrival[]> {
    return (await this.#world.ask({ order: 'take-arrivals' })) as Arrival[];
  }

  /** All that arrived at the gateway itself since it was asked for last. */
  async baitArrivals(): Promise<Arrival[]> {
    return (await this.#gateway.ask({ order: 'take-arrivals' })) as Arrival[];
  }

  /** A number that goes up with every packet that arrives in the world. */
  async packets(): Promise<number> {
    return (await this.#world.ask({ order: 'count-packets' })) as number;
  }

  /** The answers to successive look-ups of a name. The last one stays. */
  async answerName(name: string, ...answers: readonly NameAnswer[]): Promise<void> {
    await this.#world.ask({ order: 'answer-name', name, answers });
  }

  /** Makes a port of this machine's loopback also one of the gateway's, for a server of the test that the gateway uses. */
  async share(port: number): Promise<void> {
    const path = join(this.directory, `port-${port}`);
    this.#shared.push(await joinPlaces({ path }, { port, host: '127.0.0.1' }));
    await this.#gateway.ask({ order: 'lead-port', port, path });
  }

  async close(): Promise<void> {
    for (const server of this.#shared) server.close();
    await Promise.all([this.#world.close(), this.#gateway.close()]);
    await rm(this.directory, { recursive: true, force: true });
  }

  async #connect(): Promise<void> {
    writeFileSync(join(this.directory, 'resolv.conf'), `nameserver ${nameServer}\noptions timeout:5 attempts:3\n`);
    writeFileSync(join(this.directory, 'hosts'), '127.0.0.1 localhost\n::1 localhost\n');
    await Promise.all([this.#world.entered(), this.#gateway.entered()]);
    const link = ['link', 'add', 'to-world', 'type', 'veth', 'peer', 'name', 'to-gateway', 'netns', String(this.#world.pid)];
    await this.#gateway.configure([
      link,
      ['link', 'set', 'lo', 'up'],
      ['address', 'add', `${gatewayAddress}/24`, 'dev', 'to-world'],
      ['address', 'add', '10.66.0.1/24', 'dev', 'to-world'],
      ['-6', 'address', 'add', 'fd66::1/64', 'dev', 'to-world', 'nodad'],
      ['link', 'set', 'to-world', 'up'],
      ['route', 'add', 'default', 'via', worldAddress],
      ['-6', 'route', 'add', 'default', 'via', 'fd66::a'],
    ]);
    await this.#world.configure([
      ['link', 'set', 'lo', 'up'],
      ['address', 'add', `${worldAddress}/24`, 'dev', 'to-gateway'],
      ['address', 'add', `${nameServer}/24`, 'dev', 'to-gateway'],
      ['address', 'add', '10.66.0.10/24', 'dev', 'to-gateway'],
      ['-6', 'address', 'add', 'fd66::a/64', 'dev', 'to-gateway', 'nodad'],
      ['link', 'set', 'to-gateway', 'up'],
      // Not in the table of local routes, which comes first: the way back to the gateway is none of them.
      ['route', 'add', 'local', 'default', 'dev', 'lo', 'table', 'main'],
      ['-6', 'route', 'add', 'local', 'default', 'dev', 'lo', 'table', 'main'],
    ]);
    await Promise.all([this.#world.ask({ order: 'listen' }), this.#gateway.ask({ order: 'listen' })]);
  }
}

/** A process in a network namespace of its own. */
class Namespace {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  #orders = 0;

  constructor(task: Task) {
    const program = join(import.meta.dirname, 'server.ts');
    this.#process = spawn('unshare', ['--net', '--', process.execPath, program, JSON.stringify(task)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#process.on('message', ({ id, answer }: AnswerMessage) => {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    });
  }

  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('unshare could not be started');
    return this.#process.pid;
  }

  async entered(): Promise<void> {
    await this.ask({ order: 'take-arrivals' });
  }

  /** Calls `ip` in the namespace, once for each line. */
  async configure(lines: readonly (readonly string[])[]): Promise<void> {
    for (const words of lines) await run('nsenter', [`--net=/proc/${this.pid}/ns/net`, '--', 'ip', ...words]);
  }

  async ask(order: Order): Promise<unknown> {
    const id = ++this.#orders;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const onExit = (): void => reject(new Error('the process of the world has ended'));
    this.#process.once('exit', onExit);
    this.#waiting.set(id, resolve);
    this.#process.send({ id, order });
    return await promise.finally(() => this.#process.off('exit', onExit));
  }

  async close(): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null || this.#process.pid === undefined) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }
}

/** Why there can be no world on this machine. */
function findObstacle(): string | undefined {
  const missing = ['git', 'nsenter', 'openssl'].filter((name) => !findProgram(name));
  return missing.length > 0 ? `${missing.join(', ')} not installed` : lackOf('network-namespaces');
}

/** The tests of one file that share a world; skipped with the reason where there can be none, unless HERMETIC_TEST_REQUIRE names it. */
export function describeWorld(body: (world: () => World) => void): void {
  describeUnless(findObstacle(), ['world'], 'a small internet', () => {
    let world: World | undefined;
    beforeAll(async () => {
      world = await World.start();
    });
    afterAll(() => world?.close());
    body(() => {
      if (!world) throw new Error('the world has not started');
      return world;
    });
  });
}
