import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { ConnectionAnswer, ConnectionRequest } from '../../src/core/egress.ts';
import type { SandboxSpec } from '../../src/core/sandbox.ts';
import { egressEnvironment } from '../../src/egress/environment.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { until } from '../until.ts';
import type { AskingEvent, AskingOrder, Ended, RuleTexts } from './asking-messages.ts';
import { hostProgramsIn } from './restricted.ts';
import { describeWorld, type World } from './world.ts';

const inside = '/opt/world';

/** A question that waits for the test to answer it. */
export interface Asked {
  ask: number;
  run: number;
  request: ConnectionRequest;
  isLeft: boolean;
}

/** A gateway in a small internet, whose questions about hosts the test answers. */
export class AskingGateway {
  readonly questions: Asked[] = [];
  /** Of passes. */
  checks = 0;
  readonly process: ChildProcess;
  readonly #engine: TestEngine;
  readonly #shared = mkdtempSync(join(tmpdir(), 'hermetic-asking-'));
  readonly #mounts: { source: string; target: string; readOnly: boolean }[];
  readonly #waiting = new Map<number, (failure: string | undefined) => void>();
  readonly #printed = new Map<number, string>();
  readonly #ended = new Map<number, Ended>();
  #last = 0;

  constructor(world: World, engine: TestEngine) {
    this.#engine = engine;
    chmodSync(this.#shared, 0o755);
    writeFileSync(join(this.#shared, 'ca.pem'), world.authority);
    const volumes = engine.kind === 'docker' ? hostProgramsIn(this.#shared) : [];
    this.#mounts = [`${this.#shared}:${inside}:ro`, ...volumes].map((volume) => {
      const [source = '', target = ''] = volume.split(':');
      return { source, target, readOnly: true };
    });
    const { egress: _, ...context } = engine.context;
    const [file = '', ...words] = [...world.command, process.execPath, join(import.meta.dirname, 'asking-program.ts')];
    this.process = spawn(file, [...words, JSON.stringify({ kind: engine.kind, context })], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.process.on('message', (event: AskingEvent) => this.#take(event));
    this.process.once('exit', () => {
      for (const answer of this.#waiting.values()) answer('the gateway has ended');
    });
  }

  spec(): SandboxSpec {
    const env = { ...egressEnvironment, CURL_CA_BUNDLE: `${inside}/ca.pem`, SSL_CERT_FILE: `${inside}/ca.pem` };
    return this.#engine.spec({ network: 'restricted', env, mounts: this.#mounts });
  }

  /** Opens a sandbox and returns its name. */
  async open(): Promise<string> {
    const spec = this.spec();
    await this.do({ order: 'open', spec });
    return spec.name;
  }

  async do(order: AskingOrder): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#last += 1;
    const id = this.#last;
    this.#waiting.set(id, resolve);
    this.process.send({ ...order, id });
    const failure = await promise;
    if (failure !== undefined) throw new Error(failure);
  }

  /** Starts a command and returns its number. */
  async run(sandbox: string, command: string, hasAsker = true): Promise<number> {
    this.#last += 1;
    const run = this.#last;
    await this.do({ order: 'run', run, sandbox, command: `PATH=${inside}/bin:$PATH\n${command}`, hasAsker });
    return run;
  }

  async rules(rules: Partial<RuleTexts>): Promise<void> {
    await this.do({ order: 'rules', rules: { allow: [], deny: [], notesAllowed: false, ...rules } });
  }

  /** The question of a command about a host. */
  async asked(run: number, host: string): Promise<Asked> {
    return await until(`${host} is asked about`, () =>
      this.questions.find((one) => one.run === run && one.request.host === host && !one.isLeft),
    );
  }

  async answer({ ask }: Asked, answer: ConnectionAnswer | undefined): Promise<void> {
    await this.do({ order: 'answer', ask, answer });
  }

  async printed(run: number, text: string): Promise<void> {
    await until(`${text} is printed`, () => this.#printed.get(run)?.includes(text) || this.#ended.has(run));
    if (!this.#printed.get(run)?.includes(text)) throw new Error(`the command ended: ${JSON.stringify(this.#ended.get(run))}`);
  }

  async ended(run: number): Promise<Ended> {
    return await until('the command ends', () => this.#ended.get(run), { withinMs: 120_000 });
  }

  async close(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const exited = once(this.process, 'exit');
      this.process.kill('SIGKILL');
      await exited;
    }
    await rm(this.#shared, { recursive: true, force: true });
  }

  #take(event: AskingEvent): void {
    if (event.event === 'done') this.#waiting.get(event.id)?.(event.failure);
    else if (event.event === 'output') this.#printed.set(event.run, `${this.#printed.get(event.run) ?? ''}${event.text}`);
    else if (event.event === 'ended') this.#ended.set(event.run, event);
    else if (event.event === 'left') {
      for (const question of this.questions) if (question.ask === event.ask) question.isLeft = true;
    } else if (event.isCheck) this.checks += 1;
    else this.questions.push({ ask: event.ask, run: event.run, request: event.request, isLeft: false });
  }
}

/** The tests of questions about hosts on every backend; skipped with the reason where one cannot work. */
export async function describeAsking(
  body: (rig: { kind: string; engine: TestEngine; world: () => World; gateway: () => AskingGateway; sandbox: () => string }) => void,
): Promise<void> {
  for (const kind of ['bubblewrap', 'docker']) {
    await describeBackend(kind, (engine) => {
      describeWorld((world) => {
        let gateway: AskingGateway | undefined;
        let sandbox = '';
        beforeAll(async () => {
          gateway = new AskingGateway(world(), engine);
          sandbox = await gateway.open();
        });
        afterAll(() => gateway?.close());
        body({
          kind,
          engine,
          world,
          gateway: () => {
            if (!gateway) throw new Error('the gateway has not started');
            return gateway;
          },
          sandbox: () => sandbox,
        });
      });
    });
  }
}
