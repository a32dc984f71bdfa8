import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  constants,
  copyFileSync,
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
import { basename, dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimedRows, countedRows } from '../scripts/attacks.ts';

const root = dirname(import.meta.dirname);
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const files = (pattern: string) => globSync(pattern, { cwd: root, exclude: ['node_modules/**'] }).sort();

/** Imports go down only: a folder may import those of the lines above its own. */
const layers = [
  ['core', 'lib'],
  ['audit', 'bash-judge', 'egress', 'models', 'shell', 'stores'],
  ['backends', 'channels'],
  ['config'],
  ['approval', 'proof'],
  ['sandboxes'],
  ['tools'],
  ['agent'],
  ['gateway', 'http', 'mcp'],
  ['app'],
  ['cli'],
];

describe('the dependency rule', () => {
  const forbidden: Record<string, string> = {
    'guest/from-source.ts': "import { planted } from '../src/core/planted.ts';",
    'src/agent/only-a-type.ts': "import type { planted } from '../gateway/planted.ts';",
    'src/gateway/on-demand.ts': "const { planted } = await import('../app/app.ts');",
    'src/stores/passed-on.ts': "export { planted } from '../config/schema.ts';",
    'src/approval/roundabout.ts': "import { planted } from '../core/../tools/index.ts';",
    'src/models/whole-package.ts': "import { planted } from 'hermetic';",
    'src/channels/telegram/from-gateway.ts': "import { planted } from '../../gateway/inbox.ts';",
    'src/channels/telegram/from-another-channel.ts': "import { planted } from '../web/index.ts';",
    'src/backends/docker/from-config.ts': "import { planted } from '../../config/schema.ts';",
    'src/backends/docker/from-another-backend.ts': "import { planted } from '../bubblewrap/probe.ts';",
    'src/backends/engine/from-a-backend.ts': "import { planted } from '../docker/options.ts';",
    'src/backends/cloud/from-a-backend.ts': "import { planted } from '../modal/options.ts';",
    'src/shell/pipes/from-a-backend.ts': "import { planted } from '../../backends/engine/engine.ts';",
    'src/config/sections/from-cli.ts': "import { planted } from '../../cli/main.ts';",
    'src/app/status/from-cli.ts': "import { planted } from '../../cli/main.ts';",
  };
  const permitted: Record<string, string> = {
    'src/core/itself.ts': "import { planted } from './errors.ts';",
    'src/channels/telegram/beside.ts': "import { planted } from '../../core/errors.ts';\nimport { other } from '../index.ts';",
    'src/backends/docker/from-the-engine.ts': "import { planted } from '../engine/engine.ts';",
    'src/backends/docker/shared.ts': "import { planted } from '../context.ts';\nimport { other } from '../../shell/pipes/forker.ts';",
    'src/backends/index.ts': "import { planted } from './docker/options.ts';",
    'src/shell/pipes/beside.ts': "import { planted } from '../session.ts';\nimport { other } from '../streams/tether.ts';",
    'src/cli/commands/joins.ts': "import { planted } from '../../app/app.ts';",
    'src/index.ts': "import { planted } from './app/app.ts';",
  };
  for (const [height, folders] of layers.entries()) {
    for (const folder of folders) {
      for (const [otherHeight, others] of layers.entries()) {
        for (const other of others.filter((name) => name !== folder)) {
          const list = otherHeight < height ? permitted : forbidden;
          list[`src/${folder}/from-${other}.ts`] = `import { planted } from '../${other}/planted.ts';`;
        }
      }
    }
  }
  let refused: Set<string>;

  beforeAll(() => {
    const tree = mkdtempSync(join(tmpdir(), 'hermetic-rule-'));
    try {
      for (const path of ['biome.json', '.gitignore']) copyFileSync(join(root, path), join(tree, path));
      for (const [path, line] of Object.entries({ ...forbidden, ...permitted })) {
        mkdirSync(dirname(join(tree, path)), { recursive: true });
        writeFileSync(join(tree, path), `${line}\n`);
      }
      refused = refusedImports(tree);
    } finally {
      rmSync(tree, { recursive: true });
    }
  });

  it.each(Object.entries(forbidden))('the dependency rule refuses in %s: %s', (path) => {
    expect(refused).toContain(path);
  });

  it.each(Object.entries(permitted))('the dependency rule permits in %s: %s', (path) => {
    expect(refused).not.toContain(path);
  });

  it('the dependency rule covers every folder of src', () => {
    const folders = new Set(files('src/*/**/*.ts').map((path) => path.split('/')[1]));
    expect([...folders].sort()).toEqual(layers.flat().sort());
    expect(files('src/*.ts')).toEqual(['src/index.ts']);
  });

  it('only the command line imports the public interface', () => {
    const importers = files('src/*/**/*.ts').filter((path) => {
      const index = relative(dirname(path), 'src/index.ts');
      return read(path).includes(`'${index}'`) && join(dirname(path), index) === 'src/index.ts';
    });
    expect(importers.filter((path) => !path.startsWith('src/cli/'))).toEqual([]);
  });

  it('only the editor of settings writes config.yaml and .env', () => {
    const writers = /\b(changeKeys|unsetKey|takeOut|addToList|takeFromList|saveSecret|removeSecret|storeSecret|forgetSecret)\b/;
    const importsOf = (path: string): string[] =>
      [...read(path).matchAll(/import (?:type )?\{([^}]*)\} from '[^']*\/(?:edit|secrets-file|bind-secret)\.ts'/g)].map(
        ([, names]) => names ?? '',
      );
    const importers = files('src/**/*.ts').filter((path) => importsOf(path).some((names) => writers.test(names)));
    expect(importers).toEqual(['src/config/bind-secret.ts', 'src/config/settings-editor.ts']);
  });

  function refusedImports(tree: string): Set<string> {
    const { status, stdout, stderr } = biome(['lint', '--reporter=json', '--max-diagnostics=none', tree], tree);
    expect(status, stderr).toBe(1);
    const report: { diagnostics: { category: string; severity: string; location: { path: string } }[] } = JSON.parse(stdout);
    return new Set(
      report.diagnostics
        .filter(({ category, severity }) => category === 'lint/style/noRestrictedImports' && severity === 'error')
        .map(({ location }) => location.path),
    );
  }
});

describe('the source tree', () => {
  it('source files have kebab-case names', () => {
    expect(files('src/**/*').filter((path) => !/^(?:README\.md|[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*)$/.test(basename(path)))).toEqual([]);
  });

  it('no source file has over 400 lines', () => {
    expect(files('src/**/*.ts').filter((path) => read(path).trimEnd().split('\n').length > 400)).toEqual([]);
  });

  it('no source folder is deeper than the dependency rule reaches', () => {
    expect(files('src/*/*/*/**/*')).toEqual([]);
  });

  // Comments and regular expressions are matched too, so that a quotation mark in one does not begin a string.
  const literals =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|(?<=[=(,:!&|?[] ?)\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;

  it('bash programs are only in guest/ and host-scripts/, not in strings', () => {
    const isBash =
      /\$[@1-9]|\[\[ |\$\((?!\?)|[<>]"\$|\bBASH|(?:^.|[;\n]|\\n) *(?:set -|umask |exec |for \w+(?: in|;)|if .*; then|while |read -|trap |IFS=)/;
    const hasSeveralCommands = /[;|\n]|\\n|&&/;
    const programsIn = (source: string): string[] =>
      [...source.matchAll(literals)]
        .map(([text]) => text)
        .filter((text) => !text.startsWith('/') && isBash.test(text) && hasSeveralCommands.test(text));
    for (const program of [
      "'umask 077; mktemp -d'",
      '\'cd -- "$1" && ls\'',
      '`\nif [[ -d $1 ]]; then exit 92; fi`',
      "'read -r n && eval x'",
    ])
      expect(programsIn(`const script = ${program};`), program).toEqual([program]);
    for (const command of ["'true'", '\'mkdir -p -- "$1"\'', '\'stty rows "$2" cols "$3" <"$1"\'', "'for every action; or none'"])
      expect(programsIn(`const command = ${command};`), command).toEqual([]);
    // The judge reads bash; code-functions.ts makes a function of every tool.
    const sources = files('src/**/*.ts').filter((path) => !/^src\/(?:bash-judge\/|tools\/execute-code\/code-functions\.ts)/.test(path));
    expect(sources.flatMap((path) => programsIn(read(path)).map((program) => `${path}: ${program}`))).toEqual([]);
  });

  it('no text of the program has a fixed name for the program in a command: how it is run depends on where it is', () => {
    const commands = files('src/cli/commands/*.ts').map((path) => basename(path, '.ts'));
    const fixed = new RegExp(`(?<![\\w./-])hermetic(?:\\s|\\\\n)+(?:--help|(?:${commands.join('|')})\\b)`, 'g');
    const namesIn = (source: string): string[] => source.replace(literals, (text) => (text.startsWith('/') ? '' : text)).match(fixed) ?? [];
    for (const text of [
      "'hermetic doctor'",
      '"Run `hermetic doctor`."',
      '`Usage:\nhermetic doctor`',
      `\`\${model ?? \`hermetic doctor\`}\``,
    ])
      expect(namesIn(`const hint = ${text};`), text).toEqual(['hermetic doctor']);
    for (const text of [`\`\${hermetic} doctor\``, "'/hermetic run ls'", "'Hermetic: start'", '1; // as hermetic status shows it'])
      expect(namesIn(`const hint = ${text};`), text).toEqual([]);
    // Only documents are made of these.
    const references = ['src/config/example.ts', 'src/config/reference.ts', 'src/gateway/commands/reference.ts'];
    const sources = files('src/**/*.ts').filter((path) => !references.includes(path));
    expect(sources.flatMap((path) => namesIn(read(path)).map((text) => `${path}: ${text}`))).toEqual([]);
    // Threads, which are not told how the program was started.
    expect(files('src/{bash-judge,egress}/**/*.ts').filter((path) => read(path).includes('lib/own-command'))).toEqual([]);
  });

  it('guest and host scripts begin with a comment and pass bash -n', () => {
    const scripts = files('{guest,host-scripts}/*');
    expect(scripts.filter((path) => !/^(?:# |\/\/ )\S/.test(read(path)) && !path.endsWith('.txt'))).toEqual([]);
    for (const path of scripts.filter((name) => name.endsWith('.bash')))
      expect(spawnSync('bash', ['-n', join(root, path)], { encoding: 'utf8' }).stderr, path).toBe('');
    expect(JSON.parse(read('package.json')).files).toEqual(expect.arrayContaining(['guest', 'host-scripts']));
  });

  it('only lib/deadline races work against time; other races are between two events', () => {
    const betweenEvents = [
      'backends/namespaces/open-network',
      'backends/bubblewrap/start',
      'backends/singularity/start',
      'cli/joined-chat',
      'cli/streams',
      'mcp/pending-calls',
    ];
    betweenEvents.push('shell/execution', 'shell/pipes/forker', 'shell/streams/tether');
    const permitted = ['lib/deadline', ...betweenEvents].map((name) => `src/${name}.ts`);
    const races = files('src/**/*.ts').filter((path) => read(path).includes('Promise.race('));
    expect(races.filter((path) => !permitted.includes(path))).toEqual([]);
    const timed = races.filter((path) => /Promise\.race\([^;]*(?:setTimeout|delay|sleep)\(/.test(read(path)));
    expect(timed).toEqual([]);
  });

  it.each([
    ['src/lib/error-text.ts', /(\w+) instanceof Error \? \1\.message : String\(\1\)/],
    ['src/lib/file-lock.ts', /Atomics\.wait\(/],
    ['src/lib/backoff.ts', /Ms \* 2 \*\*/],
    ['src/lib/lanes.ts', /\?\? Promise\.resolve\(\)\)?\.then\(/],
  ])('no other file does what %s does', (home, pattern) => {
    expect(files('src/**/*.ts').filter((path) => path !== home && pattern.test(read(path)))).toEqual([]);
  });

  it('the lock file and .npmrc name no registry', () => {
    expect(read('package-lock.json')).not.toMatch(/"resolved":\s*"https?:/);
    if (existsSync(join(root, '.npmrc'))) expect(read('.npmrc')).not.toMatch(/registry\s*=|\/\//);
  });

  it.each(['bin/hermetic.mjs', '.ci/run', 'scripts/test-image.sh'])('%s is an executable file', (path) => {
    expect(() => accessSync(join(root, path), constants.X_OK)).not.toThrow();
  });
});

describe('the documents', () => {
  it('the documents include the MIT licence that package.json names', () => {
    expect(JSON.parse(read('package.json')).license).toBe('MIT');
    expect(read('LICENSE')).toMatch(/^MIT License/);
  });

  it.each(['README.md', 'CONTRIBUTING.md', 'AGENTS.md'])('%s names only commands that exist', (path) => {
    const { scripts, bin } = JSON.parse(read('package.json'));
    // Only code counts: prose may say "npm dependencies".
    const text = (read(path).match(/```[\s\S]*?```|`[^`\n]+`/g) ?? []).join('\n');
    const used = [...text.matchAll(/\bnpm (?:run(?: --?\S+)* )?([a-z][a-z:-]*)/g)].map((match) => match[1] ?? '');
    const builtIn = ['ci', 'install', 'rebuild', 'exec', 'run'];
    expect(used.filter((name) => !(name in scripts) && !builtIn.includes(name))).toEqual([]);
    const programs = [...text.matchAll(/\bnpx ([a-z][a-z-]*)/g)].map((match) => match[1] ?? '');
    expect(programs.filter((name) => !(name in bin) && !existsSync(join(root, 'node_modules', '.bin', name)))).toEqual([]);
  });

  it('commands of ours in blocks of the documents work as they are in a clone', () => {
    const blocks = files('{*.md,{docs,examples}/**/*.md}').flatMap((path) => read(path).match(/^ *```[\s\S]*?^ *```$/gm) ?? []);
    expect(blocks.flatMap((block) => block.match(/(?:^ *|[|;&] *)hermetic [a-z].*/gm) ?? [])).toEqual([]);
  });

  it('the documents never make a program fetch an unpublished package by name', () => {
    const configured = files('{*.md,docs/**/*.md,src/cli/**/*.ts}').filter((path) => /"command": "npx"/.test(read(path)));
    expect(configured).toEqual([]);
    expect(read('docs/mcp.md')).toContain('"args": ["/path/to/hermetic/bin/hermetic.mjs", "mcp"');
  });

  it('README, package.json and the lock file require the same Node', () => {
    expect(read('README.md')).toContain('any Node from 20 on');
    expect(JSON.parse(read('package.json')).engines).toEqual({ node: '>=20' });
    expect(JSON.parse(read('package-lock.json')).packages[''].engines).toEqual({ node: '>=20' });
  });

  it('the documents link only to existing files', () => {
    const broken = files('{*.md,{docs,bench,examples}/**/*.md}').flatMap((path) =>
      [...read(path).matchAll(/\]\(([^)\s]+)\)/g)]
        .map((match) => match[1] ?? '')
        .filter((link) => !/^([a-z]+:|#)/.test(link))
        .filter((link) => !existsSync(join(root, dirname(path), decodeURIComponent(link.split('#')[0] ?? ''))))
        .map((link) => `${path}: ${link}`),
    );
    expect(broken).toEqual([]);
  });
});

describe('the command', () => {
  let clone: string;

  beforeAll(() => {
    clone = mkdtempSync(join(tmpdir(), 'hermetic-clone-'));
    for (const directory of ['bin', 'src/cli', 'src/lib', 'node_modules']) mkdirSync(join(clone, directory), { recursive: true });
    for (const name of readdirSync(join(root, 'bin'))) copyFileSync(join(root, 'bin', name), join(clone, 'bin', name));
    for (const name of ['own-command.ts', 'shell-quote.ts']) copyFileSync(join(root, 'src/lib', name), join(clone, 'src/lib', name));
    writeFileSync(join(clone, 'node_modules/.package-lock.json'), '{}');
    writeFileSync(
      join(clone, 'src/cli/main.ts'),
      `export async function main([first, second]: string[]): Promise<void> {
        console.log(process.versions.node);
        if (first === 'exit') process.exitCode = Number(second);
        if (first === 'die') process.kill(process.pid, second);
        if (first !== 'start') return;
        const signals = ['SIGTERM', 'SIGHUP', 'SIGINT'];
        for (const name of signals) process.once(name, () => { console.log('ended by', name); process.exit(0); });
        console.log('started');
        setInterval(() => undefined, 1000);
      }`,
    );
    const { scripts } = JSON.parse(read('package.json'));
    writeFileSync(join(clone, 'package.json'), JSON.stringify({ type: 'module', scripts: { start: scripts.start } }));
  });
  afterAll(() => rmSync(clone, { recursive: true }));

  const pretendOldNode = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})';

  function runOnOldNode(...args: string[]) {
    return spawnSync(process.execPath, ['--import', pretendOldNode, join(clone, 'bin/hermetic.mjs'), ...args], { encoding: 'utf8' });
  }

  it('the command says what it needs when the Node is too old and none is pinned', () => {
    const { status, stdout, stderr } = runOnOldNode('exit', '0');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/needs Node 24 or newer; this is Node 20\.0\.0/);
  });

  it("the command moves to the pinned Node and returns the program's exit", () => {
    mkdirSync(join(clone, 'node_modules/node/bin'), { recursive: true });
    symlinkSync(process.execPath, join(clone, 'node_modules/node/bin/node'));
    expect(runOnOldNode('exit', '7')).toMatchObject({ status: 7, signal: null, stdout: `${process.versions.node}\n` });
    expect(runOnOldNode('die', 'SIGTERM')).toMatchObject({ status: null, signal: 'SIGTERM' });
    expect(runOnOldNode('die', 'SIGINT')).toMatchObject({ status: null, signal: 'SIGINT' });
  });

  /** What it prints until nobody holds its output any more, when this is done to what was started. */
  async function printedAfter(command: string, args: string[], signal: NodeJS.Signals): Promise<string> {
    const child = spawn(command, args, { cwd: clone, stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('started')) child.kill(signal);
      printed += text;
    });
    await once(child, 'close');
    return printed;
  }

  it.each([
    ['SIGTERM', 'SIGTERM'],
    ['SIGHUP', 'SIGHUP'],
    ['SIGINT', 'SIGINT'],
    ['SIGKILL', 'SIGTERM'],
  ] as const)('the program on the pinned Node ends as it should when only its parent gets %s', async (sent, heard) => {
    const args = ['--import', pretendOldNode, join(clone, 'bin/hermetic.mjs'), 'start'];
    expect(await printedAfter(process.execPath, args, sent)).toContain(`ended by ${heard}\n`);
  });

  it('SIGTERM to npm start ends the program', async () => {
    expect(await printedAfter('npm', ['start'], 'SIGTERM')).toContain('ended by SIGTERM\n');
  });
});

describe('the set-up', () => {
  it.each([
    [[], 'bubblewrap slirp4netns'],
    [['bwrap'], 'slirp4netns'],
    [['bwrap', 'slirp4netns'], undefined],
  ])('with %j on the PATH and no engine, the set-up installs or asks for what sandboxes with a network need', async (present, expected) => {
    const programs = mkdtempSync(join(tmpdir(), 'hermetic-programs-'));
    try {
      for (const name of [...present, 'apt-get']) {
        writeFileSync(join(programs, name), `#!/bin/sh\necho "$@" >>${join(programs, 'calls')}\n`, { mode: 0o755 });
      }
      const script = `import { ensureSandboxPrograms } from ${JSON.stringify(join(root, 'scripts/set-up.mjs'))}; await ensureSandboxPrograms((line) => console.log(line));`;
      const env = { PATH: programs, DOCKER_HOST: 'unix:///nowhere/docker.sock' };
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', env });
      const calls = existsSync(join(programs, 'calls')) ? readFileSync(join(programs, 'calls'), 'utf8') : '';
      if (expected === undefined) expect(stdout + calls).toBe('');
      else expect(stdout).toMatch(new RegExp(`\\b${expected}$`, 'm'));
      const isInstalling = expected !== undefined && process.getuid?.() === 0 && existsSync('/etc/debian_version');
      if (isInstalling) expect(calls).toMatch(new RegExp(`install -y --no-install-recommends ${expected}\n$`));
    } finally {
      rmSync(programs, { recursive: true });
    }
  });

  it.each([
    ['what the lock file asks for is there', { a: '1.0.0' }, true],
    ['a package is missing', {}, false],
    ['a package has another version', { a: '0.9.0' }, false],
    ['the installation was cut off', undefined, false],
  ])('the set-up decides whether to install when %s', async (_case, installed, expected) => {
    const clone = mkdtempSync(join(tmpdir(), 'hermetic-clone-'));
    try {
      const locked = { '': {}, 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '1.0.0', optional: true } };
      writeFileSync(join(clone, 'package-lock.json'), JSON.stringify({ packages: locked }));
      if (installed) {
        mkdirSync(join(clone, 'node_modules'));
        const packages = 'a' in installed ? { 'node_modules/a': { version: installed.a } } : {};
        writeFileSync(join(clone, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));
      }
      const script = `import { isInstalled } from ${JSON.stringify(join(root, 'scripts/set-up.mjs'))}; console.log(isInstalled(process.argv[1]));`;
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script, clone], { encoding: 'utf8' });
      expect(stdout.trim()).toBe(String(expected));
    } finally {
      rmSync(clone, { recursive: true });
    }
  });
});

function biome(args: readonly string[], cwd: string) {
  return spawnSync(join(root, 'node_modules', '.bin', 'biome'), args, { cwd, encoding: 'utf8' });
}

describe('the table of attacks in docs/threat-model.md', () => {
  const counted = countedRows();
  const claimed = claimedRows();

  it('the table of attacks lists every area', () => {
    expect(
      claimed.map(({ area }) => area),
      'run `npm run attacks`',
    ).toEqual(counted.map(({ area }) => area));
  });

  it.each(counted)('the table of attacks claims no more probes than there are: $area', ({ area, count }) => {
    const claim = claimed.find((row) => row.area === area)?.count ?? 0;
    expect(claim, 'run `npm run attacks`').toBeGreaterThan(0);
    expect(claim, 'run `npm run attacks`').toBeLessThanOrEqual(count);
  });
});
