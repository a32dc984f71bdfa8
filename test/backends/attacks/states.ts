import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { pathsIn } from '../../../src/backends/sandbox-directory.ts';
import type { TestEngine } from '../../engines.ts';
import { briefly, command, limits, useAttackRig, worksOrIsLost } from './rig.ts';

/** For what must work, however busy the machine is. */
const slowly = (...[sandbox, text, options]: Parameters<typeof briefly>) => briefly(sandbox, text, options, 60_000);

/** Reports, in the place of this shell, the state that is in `$1`, one field a line of it, and dies before it can tell the truth. */
const forgeScript = `
mapfile -t fields <<<"$1"
printf '%b\\0' "\${fields[@]}" 1<>"$__hermetic_at.state"
printf 'E 0\\n' 1<>"$__hermetic_at.end"
kill -9 $$`;

const truth = {
  exports: 'declare -x HONEST="1"',
  names: '',
  functions: '',
  aliases: '',
  options: 'extglob',
  umask: 'umask 0022',
  directory: '/tmp',
};

/** Bash source in every place where the host could take it for something else. `$` is a command of the shell. */
function forgeries(code: string): Record<string, Partial<typeof truth>> {
  return {
    'a variable with code in its name': { exports: `declare -x A;${code}="1"\\ndeclare -x $(${code})="1"` },
    'variables called like parts of an object': {
      exports: ['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map((name) => `declare -x ${name}="1"`).join('\\n'),
      aliases: `alias __proto__='1'`,
    },
    'a value that runs something': { exports: `declare -x A="$(${code})"\\ndeclare -ax B=([$(${code})]="1")` },
    'a value whose quotes never close': { exports: `declare -x A="'\\"` },
    'a function that is more than one': { names: 'declare -f f', functions: `f () \\n{ :; }; ${code}` },
    'functions and aliases with impossible names': {
      names: `declare -f $(${code})\\ndeclare -fx ;${code}`,
      functions: `$(${code}) () \\n{ :; }`,
      aliases: `alias $(${code})='1'\\nalias -- -x;${code}='2'`,
    },
    'options, a mask and a directory that are code': { options: `x;${code}:extglob`, umask: `umask 0;${code}`, directory: `$(${code})` },
    'a directory that is none': { directory: `/\\033]0;title\\a\\n../../..` },
  };
}

export function stateAttacks(engine: TestEngine): void {
  const rig = useAttackRig(engine);

  it('never runs a forged state on the host, and the session keeps working', async () => {
    // Harmless, and only ever handed to a sandbox.
    const trace = `/tmp/hermetic-trace-${randomBytes(6).toString('hex')}`;
    const spec = engine.spec({ limits });
    const sandbox = await engine.open(spec);
    await rig.withstand(async () => {
      for (const [what, forgery] of Object.entries(forgeries(`touch ${trace}`))) {
        await slowly(sandbox, forgeScript, { args: [Object.values({ ...truth, ...forgery }).join('\n')] });
        expect(sandbox.cwd, what).toMatch(/^\//);
        expect((await slowly(sandbox, 'echo works')).stdout, what).toBe('works\n');
      }
    });
    await sandbox.close();
    const again = await engine.open(spec);
    expect((await slowly(again, 'echo works')).stdout).toBe('works\n');
    await again.destroy();
    expect(existsSync(trace)).toBe(false);
  });

  it('stores a forged state as data', async () => {
    const spec = engine.spec({ limits });
    const sandbox = await engine.open(spec);
    await slowly(sandbox, forgeScript, { args: [Object.values(truth).join('\n')] });
    expect(sandbox.cwd).toBe('/tmp');
    expect((await command(sandbox, 'echo "$HONEST"')).stdout).toBe('1\n');
    expect(JSON.parse(readFileSync(pathsIn(spec.directory).state, 'utf8'))).toContainEqual(['variable HONEST', 'declare -x HONEST="1"']);
    await sandbox.destroy();
  });

  it.each([
    ['two hundred thousand variables', `printf 'declare -x V%d="1"\\n' {1..200000}`],
    ['one variable of eight megabytes', `printf 'declare -x V="'; head -c 8000000 /dev/zero | tr '\\0' x; printf '"\\n'`],
    ['three megabytes of backslashes', `printf 'declare -x V="'; head -c 3000000 /dev/zero | tr '\\0' '\\\\'; printf '"\\n'`],
  ])('bounds or drops a state of %s', async (_, exports) => {
    const spec = engine.spec({ limits });
    const sandbox = await engine.open(spec);
    const script = `export KEPT=1
      { ${exports}; printf '\\0\\0\\0\\0extglob\\0umask 0022\\0/tmp\\0'; } 1<>"$__hermetic_at.state"; printf 'E 0\\n' 1<>"$__hermetic_at.end"; kill -9 $$`;
    await rig.withstand(async () => {
      await briefly(sandbox, script);
      await worksOrIsLost(sandbox);
    });
    const { state } = pathsIn(spec.directory);
    if (existsSync(state)) expect(readFileSync(state).length).toBeLessThan(25_000_000);
    await sandbox.destroy();
  });

  it('opens a sandbox whose state file is damaged', async () => {
    const spec = engine.spec({ limits });
    const { state } = pathsIn(spec.directory);
    mkdirSync(dirname(state), { recursive: true });
    writeFileSync(state, '[["directory", "\\u20ac/../\\ud800"], ["variable A", "declare -x A=\\""], ["no such kind", "x"]]');
    const sandbox = await engine.open(spec);
    expect((await slowly(sandbox, 'export B=1; echo works')).stdout).toBe('works\n');
    expect((await slowly(sandbox, 'echo "$B"')).stdout).toBe('1\n');
    await sandbox.destroy();
    expect(existsSync(spec.directory)).toBe(false);
  });

  it('keeps the state in memory while its file cannot be written', async () => {
    const spec = engine.spec({ limits });
    const { state } = pathsIn(spec.directory);
    // Nothing can be put in the place of a directory, as nothing can be written on a full disk.
    mkdirSync(state, { recursive: true });
    const sandbox = await engine.open(spec);
    await command(sandbox, 'export A=1; cd /tmp');
    expect((await command(sandbox, 'echo "$A" "$PWD"')).stdout).toBe('1 /tmp\n');
    await sandbox.destroy();
    expect(existsSync(spec.directory)).toBe(false);
  });
}
