import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from './until.ts';

const root = dirname(import.meta.dirname);
const copied = ['bin', 'docs', 'guest', 'host-scripts', 'package.json', 'scripts', 'src'];

/** A driver of `test/toys` becomes a folder of a set, and one more entry of its list. */
const sets = {
  backends: {
    toy: 'backend',
    list: ['  local,\n]', '  local,\n  toy,\n]'],
    page: 'docs/sandboxes/toy.md',
  },
  channels: { toy: 'channel', list: ['[telegram,', '[toy, telegram,'], page: 'docs/channels/toy.md' },
} as const;

describe('a backend and a channel added as AGENTS.md says', () => {
  let copy: string;
  let gateway: ChildProcess | undefined;

  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'hermetic-toys-'));
    for (const part of copied) cpSync(join(root, part), join(copy, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const [set, { toy, list, page }] of Object.entries(sets)) {
      const folder = join(copy, 'src', set);
      mkdirSync(join(folder, 'toy'));
      for (const file of globSync(join(import.meta.dirname, 'toys', toy, '*.ts'))) {
        const text = readFileSync(file, 'utf8').replaceAll(`'../../../src/${set}/`, "'../").replaceAll("'../../../src/", "'../../");
        writeFileSync(join(folder, 'toy', basename(file)), text);
      }
      const index = join(folder, 'index.ts');
      const before = readFileSync(index, 'utf8');
      const [without, withToy] = list;
      expect(before).toContain(without);
      writeFileSync(index, `import { toy } from './toy/index.ts';\n${before.replace(without, withToy)}`);
      writeFileSync(join(copy, page), '# Toy\n');
    }
  });
  afterAll(async () => {
    if (gateway?.exitCode === null && gateway.signalCode === null) {
      gateway.kill('SIGKILL');
      await once(gateway, 'exit');
    }
    rmSync(copy, { recursive: true, force: true, maxRetries: 10 });
  });

  const start = (program: string, ...args: string[]) => {
    const env = { PATH: process.env.PATH ?? '', HOME: copy, HERMETIC_HOME: join(copy, 'home'), TOY_TOKEN: 'nothing-secret' };
    return spawn(process.execPath, [join(copy, program), ...args], { env, stdio: ['ignore', 'pipe', 'pipe'], cwd: copy });
  };
  const ended = async (child: ReturnType<typeof start>) => {
    const outcome = { code: null as number | null, stdout: '', stderr: '' };
    child.stdout.on('data', (data: Buffer) => {
      outcome.stdout += data.toString();
    });
    child.stderr.on('data', (data: Buffer) => {
      outcome.stderr += data.toString();
    });
    [outcome.code] = (await once(child, 'close')) as [number | null];
    return outcome;
  };
  const hermetic = async (...args: string[]) => await ended(start('bin/hermetic.mjs', ...args));

  it('adding a backend and a channel changes only their folders, the lists and their pages', () => {
    const filesOf = (tree: string) =>
      copied.flatMap((part) =>
        part.includes('.')
          ? [part]
          : readdirSync(join(tree, part), { recursive: true, withFileTypes: true })
              .filter((entry) => entry.isFile())
              .map((entry) => join(entry.parentPath, entry.name).slice(tree.length + 1)),
      );
    const isChanged = (path: string) =>
      !existsSync(join(root, path)) || readFileSync(join(root, path), 'utf8') !== readFileSync(join(copy, path), 'utf8');
    expect(filesOf(copy).filter(isChanged).sort()).toEqual([
      'docs/channels/toy.md',
      'docs/sandboxes/toy.md',
      'src/backends/index.ts',
      'src/backends/toy/index.ts',
      'src/backends/toy/options.ts',
      'src/channels/index.ts',
      'src/channels/toy/index.ts',
      'src/channels/toy/options.ts',
    ]);
  });

  it('the generated reference has the options of an added backend and channel', async () => {
    expect(await ended(start('scripts/generate-docs.ts'))).toMatchObject({ code: 0 });
    const reference = readFileSync(join(copy, 'docs/config.md'), 'utf8');
    expect(reference).toContain(
      '| `terminal.toy_greeting` | `TERMINAL_TOY_GREETING` | a greeting | `hello` | What the variable GREETING says',
    );
    expect(reference).toContain('| `toy.directory` | `HERMETIC_TOY_DIRECTORY` | a directory | `/nowhere` | ');
    expect(reference).toContain('| `toy.enabled` | ');
    expect(reference).toMatch(
      /`terminal\.backend`.*one of auto, toy, local, ssh, vercel, daytona, modal, kubernetes, singularity, podman, bubblewrap, docker/,
    );
  });

  it('an added backend and channel can be configured, and an unknown option of theirs is refused', async () => {
    for (const [key, value] of [
      ['terminal.backend', 'toy'],
      ['terminal.toy_greeting', 'good day'],
    ] as const) {
      expect(await hermetic('config', 'set', key, value)).toMatchObject({ code: 0, stdout: expect.stringContaining(`${key} is set in`) });
    }
    expect(await hermetic('config', 'set', 'terminal.toy_greting', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('terminal.toy_greting is not a key. Did you mean terminal.toy_greeting?'),
    });
    expect(await hermetic('config', 'set', 'toy.directry', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean toy.directory?'),
    });
    expect(await hermetic('config', 'set', 'terminal.toy_greeting', '')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('must be a greeting'),
    });
  });

  it('an added backend runs a command with its options', async () => {
    expect(await hermetic('run', '--', 'echo hi; echo "$GREETING"')).toMatchObject({ code: 0, stdout: 'hi\ngood day\n' });
  });

  it('an added channel answers a message, from a command that ran on the added backend', async () => {
    const settings = { 'web.enabled': 'false', 'toy.enabled': 'true', 'toy.directory': copy, 'toy.allowed_users': '["ada"]' };
    for (const [key, value] of Object.entries(settings)) expect(await hermetic('config', 'set', key, value)).toMatchObject({ code: 0 });
    let said = '';
    const child = start('bin/hermetic.mjs', 'start');
    gateway = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data: Buffer) => {
        said += data.toString();
      });
    }
    await until('the gateway names its channels', () => said.includes('Who may talk on toy: 1 allowed user: ada'), { withinMs: 60_000 });
    appendFileSync(join(copy, 'in.txt'), '/run echo "$GREETING"\n');
    const answers = () => (existsSync(join(copy, 'out.txt')) ? readFileSync(join(copy, 'out.txt'), 'utf8') : '');
    await until('the toy channel has the answer', () => answers().includes('good day'), { withinMs: 60_000 });
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
