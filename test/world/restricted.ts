import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, globSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { Hermetic, type Outcome } from '../cli/hermetic.ts';
import { describeBackend } from '../engines.ts';
import { until } from '../until.ts';
import type { Attempt, AttemptResult } from './attempts.ts';
import { describeWorld, type World } from './world.ts';

/** The section `network` of a configuration. */
export interface NetworkSettings {
  allow?: readonly string[];
  deny?: readonly string[];
  presets?: readonly string[];
  private?: readonly string[];
  direct_ports?: readonly number[];
}

/** The section `secrets` of a configuration, and the values outside of sandboxes. */
export interface SecretSettings {
  secrets: Readonly<Record<string, { hosts: readonly string[]; exclusive?: boolean }>>;
  /** In `.env`. */
  file: Readonly<Record<string, string>>;
  /** In the environment of the program. */
  environment: Readonly<Record<string, string>>;
}

/** Programs of this machine that sandboxes of the tests have. The image of the tests has none of them, bubblewrap shows them all. */
const hostPrograms = ['curl', 'wget', 'git', 'ssh', 'node', 'npm', 'python3', 'gh', 'go', 'java'] as const;
/** Where a directory of the test is that `hostProgramsIn` has filled. */
export const inside = '/opt/world';
const attackerName = 'attacker.py';
const guesserName = 'guesser.py';
const authority = `${inside}/ca.pem`;

/** Makes every program inside trust the certificates of the world, where no secret does. wget reads no variable. */
const trust = {
  SSL_CERT_FILE: authority,
  CURL_CA_BUNDLE: authority,
  GIT_SSL_CAINFO: authority,
  NODE_EXTRA_CA_CERTS: authority,
  PIP_CERT: authority,
  CARGO_HTTP_CAINFO: authority,
  REQUESTS_CA_BUNDLE: authority,
  npm_config_cafile: authority,
} as const;

/** Where cargo is on this machine; bubblewrap shows nothing of the home it is in. */
export const rustToolchain = globSync(join(homedir(), '.rustup/toolchains/*/bin/cargo'))
  .map((cargo) => dirname(dirname(cargo)))
  .at(0);

/** The variables that name the proxy, for `unset`. */
export const proxyVariables = 'http_proxy https_proxy HTTP_PROXY HTTPS_PROXY no_proxy NO_PROXY NODE_USE_ENV_PROXY';

/** The program as its owner runs it on the gateway of a world, with restricted sandboxes of one backend. */
export class Restricted {
  readonly hermetic: Hermetic;
  readonly #kind: string;
  readonly #image: string;
  readonly #sessions = new Set<string>();
  readonly #mounts: readonly string[];
  readonly #secrets: SecretSettings | undefined;

  constructor(world: World, kind: string, image: string, settings: NetworkSettings, secrets?: SecretSettings) {
    const trusting = { NODE_EXTRA_CA_CERTS: join(world.directory, 'ca.pem') };
    this.hermetic = new Hermetic(secrets ? { ...trusting, ...secrets.environment } : {}, world.command);
    this.#secrets = secrets;
    this.#kind = kind;
    this.#image = image;
    const shared = join(this.hermetic.home, 'shared');
    mkdirSync(shared, { mode: 0o755 });
    writeFileSync(join(shared, 'ca.pem'), world.authority);
    for (const name of [attackerName, guesserName]) copyFileSync(join(import.meta.dirname, name), join(shared, name));
    const node = `${process.execPath}:/opt/node24:ro`;
    const rust = rustToolchain === undefined ? [] : [`${rustToolchain}:/opt/rust:ro`];
    this.#mounts = [`${shared}:${inside}:ro`, node, ...rust, ...(kind === 'docker' ? hostProgramsIn(shared) : [])];
    this.configure(settings);
  }

  /** Writes `config.yaml` anew. */
  configure(network: NetworkSettings): void {
    const home = join(this.hermetic.home, '.hermetic');
    mkdirSync(home, { recursive: true, mode: 0o700 });
    const terminal = {
      backend: this.#kind,
      network: 'restricted',
      ...(this.#kind === 'docker' ? { docker_image: this.#image } : {}),
      docker_volumes: this.#mounts,
      ...(this.#secrets ? {} : { docker_env: trust }),
    };
    const { secrets = {}, file = {} } = this.#secrets ?? {};
    writeFileSync(join(home, 'config.yaml'), JSON.stringify({ terminal, network, secrets }), { mode: 0o600 });
    const lines = Object.entries(file).map(([name, value]) => `${name}=${value}\n`);
    if (lines.length > 0) writeFileSync(join(home, '.env'), lines.join(''), { mode: 0o600 });
  }

  async run(command: string, session = 'default', input = ''): Promise<Outcome> {
    this.#sessions.add(session);
    return await this.hermetic.run(['run', '--session', session, '--', this.#script(command)], { input });
  }

  /** With the programs of this machine in the search path. */
  #script(command: string): string {
    return `PATH=${inside}/bin:$PATH\n${command}`;
  }

  /** Starts a command that runs until its standard input ends. */
  start(command: string, session: string): RunningCommand {
    this.#sessions.add(session);
    return new RunningCommand(this.hermetic.start(['run', '--session', session, '--', this.#script(command)]));
  }

  /** Makes the attempts in a sandbox, one after the other. Says what became of each. */
  async attack<Name extends string>(attempts: Readonly<Record<Name, Attempt>>, session = 'attacker'): Promise<Record<Name, AttemptResult>> {
    const names = Object.keys(attempts) as Name[];
    const input = JSON.stringify(names.map((name) => attempts[name]));
    const { code, stdout, stderr } = await this.run(`python3 ${inside}/${attackerName}`, session, input);
    if (code !== 0) throw new Error(`the attacker did not run: ${stderr}`);
    const results = JSON.parse(stdout) as AttemptResult[];
    return Object.fromEntries(names.map((name, index) => [name, results[index] ?? {}])) as Record<Name, AttemptResult>;
  }

  async remove(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => this.hermetic.run(['sandbox', 'destroy', session])));
    await rm(this.hermetic.home, { recursive: true, force: true, maxRetries: 10 });
  }
}

class RunningCommand {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #output = '';
  #errors = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, 'close');
    child.stdout?.on('data', (data: Buffer) => (this.#output += data.toString()));
    child.stderr?.on('data', (data: Buffer) => (this.#errors += data.toString()));
  }

  async printed(text: string): Promise<void> {
    await until(`a command prints ${text}`, () => {
      if (this.#child.exitCode !== null) throw new Error(`the command has ended: ${this.#errors}`);
      return this.#output.includes(text);
    });
  }

  /** Ends its standard input. Resolves with all that it printed. */
  async end(): Promise<string> {
    this.#child.stdin?.end();
    await this.#ended;
    return this.#output;
  }
}

/** Volumes that bring the programs of this machine into a container of the same distribution, with all libraries but those of libc. */
export function hostProgramsIn(shared: string): string[] {
  const [architecture = ''] = readdirSync('/usr/lib').filter((name) => name.endsWith('-linux-gnu'));
  mkdirSync(join(shared, 'lib'));
  const isOfLibc = /^(?:ld-linux|lib(?:c|m|dl|rt|util|anl|pthread|resolv|thread_db|nss_\w+)\.so)/;
  for (const name of readdirSync(`/usr/lib/${architecture}`)) {
    if (name.includes('.so.') && !isOfLibc.test(name)) symlinkSync(`/host-usr/lib/${architecture}/${name}`, join(shared, 'lib', name));
  }
  mkdirSync(join(shared, 'bin'));
  const variables = `LD_LIBRARY_PATH=${inside}/lib GIT_EXEC_PATH=/host-usr/lib/git-core PYTHONHOME=/host-usr`;
  for (const name of hostPrograms) {
    const path = placeInContainer(name);
    if (path !== undefined) writeFileSync(join(shared, 'bin', name), `#!/bin/bash\n${variables} exec ${path} "$@"\n`, { mode: 0o755 });
  }
  // Debian's Java has links to its settings there.
  const javaSettings = globSync('/etc/java-*-openjdk').map((directory) => `${directory}:${directory}:ro`);
  return ['/usr:/host-usr:ro', ...javaSettings];
}

/** Where a program of this machine is in such a container. Links through /etc/alternatives lead nowhere there. */
function placeInContainer(name: string): string | undefined {
  const path = `/usr/bin/${name}`;
  return existsSync(path) ? realpathSync(path).replace(/^\/usr\//, '/host-usr/') : undefined;
}

/** The tests of restricted sandboxes of every backend that need a world; skipped with the reason where one cannot work. */
export async function describeRestricted(
  settings: NetworkSettings,
  body: (rig: { kind: string; world: () => World; restricted: () => Restricted }) => void,
  secrets?: SecretSettings,
): Promise<void> {
  for (const kind of ['bubblewrap', 'docker']) {
    await describeBackend(kind, ({ context }) => {
      describeWorld((world) => {
        let restricted: Restricted | undefined;
        beforeAll(() => {
          restricted = new Restricted(world(), kind, context.docker.image, settings, secrets);
        });
        afterAll(() => restricted?.remove());
        body({
          kind,
          world,
          restricted: () => {
            if (!restricted) throw new Error('the sandboxes have not been configured');
            return restricted;
          },
        });
      });
    });
  }
}
