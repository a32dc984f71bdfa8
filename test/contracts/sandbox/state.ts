import { describe, expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { sleepMark, untilAsleep, useBench } from './bench.ts';

const awkward = {
  empty: '',
  blanks: '  two  blanks\tand a tab ',
  newlines: '\nfirst\n\nsecond\n',
  quotes: `it's "quoted" and \`ticked\``,
  dollars: '$HOME ${x} $(touch oops) $$',
  backslashes: 'a\\b\\\\c\\n\\',
  'shell text': '; exit 9 # & | > < * ? [a] ! ~',
  'a declaration': 'x"\ndeclare -x INJECTED="yes',
  unicode: 'naïve 日本語 🦀',
  control: '\u0001\u001b[31m\u007f',
};

export function stateContract(engine: TestEngine): void {
  describe('variables', () => {
    const bench = useBench(engine, { env: { GIVEN: 'by the spec', PATH: '/opt/own:/usr/local/bin:/usr/bin:/bin' } });

    it('carries exports to every later command', async () => {
      await bench.run('export CARRIED=one ALSO=two');
      expect(await bench.output('echo "$CARRIED $ALSO"')).toBe('one two\n');
      expect(await bench.output('printenv CARRIED')).toBe('one\n');
    });

    it('starts with the variables of the spec, and no profile changes them', async () => {
      expect(await bench.output('echo "$GIVEN $PATH"')).toBe('by the spec /opt/own:/usr/local/bin:/usr/bin:/bin\n');
    });

    it('carries the removal of a variable, also of one the sandbox started with', async () => {
      await bench.run('export GONE=1');
      await bench.run('unset GONE GIVEN');
      expect(await bench.output('echo "${GONE-unset} ${GIVEN-unset}"')).toBe('unset unset\n');
      await bench.run('export GIVEN="by a command"');
      expect(await bench.output('echo "$GIVEN"')).toBe('by a command\n');
    });

    it('carries that a variable is no longer exported', async () => {
      await bench.run('export BRIEFLY=1');
      await bench.run('export -n BRIEFLY');
      expect(await bench.run('printenv BRIEFLY')).toMatchObject({ stdout: '', exit: { kind: 'exited', code: 1 } });
    });

    it.each(Object.entries(awkward))('carries a value of %s', async (_, value) => {
      await bench.run('export AWKWARD="$1"', { args: [value] });
      expect(await bench.output('printf %s "$AWKWARD"')).toBe(value);
      expect(await bench.output('echo "${INJECTED-none}"; [[ ! -e oops ]]')).toBe('none\n');
    });

    it('carries bytes that are not UTF-8', async () => {
      const bytes = Buffer.from(Array.from({ length: 255 }, (_, index) => index + 1));
      await bench.run(`export BYTES=$'${[...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}'`);
      expect((await bench.run('printf %s "$BYTES"')).bytes).toEqual(bytes);
    });

    it('carries a large value', async () => {
      await bench.run('printf -v LARGE %30000s; part="a\'b"; export LARGE="${LARGE// /$part}"');
      expect(await bench.output('echo ${#LARGE}; printenv LARGE | wc -c; unset LARGE')).toBe('90000\n90001\n');
    });

    it('carries attributes and exported arrays', async () => {
      await bench.run('declare -ix COUNT=3; declare -ax LIST=(a "b c" $\'d\\ne\')');
      expect(await bench.output('COUNT+=4; echo $COUNT; printf "<%s>" "${LIST[@]}"')).toBe('7\n<a><b c><d\ne>');
    });

    it('forgets what was not exported, and options of set', async () => {
      await bench.run('plain=1; set -euo pipefail');
      expect(await bench.output('echo "${plain-unset}"; false; echo "$undefined on"')).toBe('unset\n on\n');
    });

    it('loses none of six exports made at the same time', async () => {
      const names = ['A', 'B', 'C', 'D', 'E', 'F'].map((letter) => `PARALLEL_${letter}`);
      await Promise.all(names.map((name) => bench.run(`export ${name}=${name}`)));
      expect(await bench.output(`echo ${names.map((name) => `$${name}`).join(' ')}`)).toBe(`${names.join(' ')}\n`);
    });

    it('loses nothing that short commands changed while a long one ran', async () => {
      const long = await bench.start('export LONG=1; read; unset PARALLEL_A', { stdin: 'open' });
      await bench.run('export SHORT=2; cd /usr');
      await long.write('\n');
      await long.exit;
      expect(await bench.output('echo "$LONG $SHORT $PWD ${PARALLEL_A-unset} $PARALLEL_B"; cd - >/dev/null')).toBe(
        '1 2 /usr unset PARALLEL_B\n',
      );
    });

    it('gives a variable to one command only', async () => {
      await bench.run('export KEPT=session');
      const env = { ONCE: `it's $HOME "quoted"\nline`, KEPT: 'call' };
      expect(await bench.output('printf "%s|%s" "$(printenv ONCE)" "$KEPT"; export NEW=1', { env })).toBe(`${env.ONCE}|call`);
      expect(await bench.output('echo "${ONCE-unset} $KEPT $NEW"')).toBe('unset session 1\n');
    });

    it('leaves the session alone when the command is stateless', async () => {
      await bench.run('cd /tmp; export STATELESS=1; f_stateless() { :; }', { stateless: true });
      expect(await bench.output('echo "${STATELESS-unset} $PWD"; ! declare -F f_stateless')).toBe(`unset ${bench.workdir}\n`);
    });

    it.each(['A B', '', '1A', 'A-B', 'A=B', 'A\0'])('refuses %j as the name of a variable', async (name) => {
      await expect(bench.start('true', { env: { [name]: 'x' } })).rejects.toMatchObject({ code: 'sandbox/bad-command' });
    });

    it('leaves nothing of its own in the environment of a program', async () => {
      expect(await bench.output('env | grep __ || echo clean')).toBe('clean\n');
    });
  });

  describe('functions, aliases and options', () => {
    const bench = useBench(engine);
    const define = async (source: string): Promise<void> => {
      await bench.output(source);
      // Not only by the next command, but by all that follow.
      await bench.output('true');
    };

    it('carries functions', async () => {
      await define('greet() { echo "hello $1"; }');
      expect(await bench.output('greet you')).toBe('hello you\n');
    });

    it('carries private functions, and never runs their bodies by itself', async () => {
      await define('_private() { echo private; touch ran; }');
      expect(await bench.output('[[ ! -e ran ]]; echo $?; _private; rm ran')).toBe('0\nprivate\n');
    });

    it('carries functions with any name bash takes', async () => {
      await define(
        'with-dash() { echo dash; }; with.dot() { echo dot; }; +() { echo plus; }; function if { echo word; }; zz::y() { echo colons; }',
      );
      expect(await bench.output('with-dash; with.dot; +; "if"; zz::y')).toBe('dash\ndot\nplus\nword\ncolons\n');
      await define('unset -f with-dash + if');
      expect(await bench.output('declare -F with-dash + if || echo none; with.dot')).toBe('none\ndot\n');
    });

    it('carries bodies with braces, loops and nested functions', async () => {
      await define(
        `braces() { { echo "}"; }; for i in {1..3}; do case $i in 2) echo "\${i}}" ;; esac; done; inner() { echo inner; }; inner; }`,
      );
      expect(await bench.output('braces')).toBe('}\n2}\ninner\n');
    });

    it('carries here-documents with a brace at the start of a line', async () => {
      await define("document() { cat <<'END'\n}\n{\n}\nEND\n}\nlast() { echo last; }");
      expect(await bench.output('document; last')).toBe('}\n{\n}\nlast\n');
    });

    it('carries here-documents that look like another function', async () => {
      const text = 'real () \n{ \n    echo forged\n}\n';
      await define(`maker() { cat <<'END'\n}\n${text}END\n}\nreal() { echo real; }`);
      expect(await bench.output('maker; real')).toBe(`}\n${text}real\n`);
      await define('real() { echo changed; }');
      expect(await bench.output('maker; real')).toBe(`}\n${text}changed\n`);
      await define('unset -f maker');
      expect(await bench.output('declare -F maker || real')).toBe('changed\n');
    });

    it('carries functions whose body is not a brace group, and their redirections', async () => {
      await define('sub() ( cd /; pwd ); loud() { echo aloud; } >&2');
      expect(await bench.run('sub; loud')).toMatchObject({ stdout: '/\n', stderr: 'aloud\n' });
    });

    it('carries that a function is exported to programs', async () => {
      await define('exported() { echo from a program; }; export -f exported');
      expect(await bench.output("bash -c 'exported'")).toBe('from a program\n');
    });

    it('carries the removal of a function', async () => {
      await define('brief() { :; }');
      await define('unset -f brief');
      expect(await bench.output('declare -F brief || echo none')).toBe('none\n');
    });

    it('is not disturbed by functions named like builtins', async () => {
      const names = [
        'cd',
        'printf',
        'read',
        'unset',
        'set',
        'eval',
        'export',
        'pwd',
        'local',
        'return',
        'declare',
        'shopt',
        'mapfile',
        'umask',
      ];
      await bench.output(names.map((name) => `${name}() { echo "${name} was called"; }`).join('\n'));
      expect(await bench.output('echo untouched')).toBe('untouched\n');
      await bench.output('builtin cd /usr; builtin export DESPITE=1');
      expect(await bench.output('builtin echo "$PWD $DESPITE"; cd')).toBe('/usr 1\ncd was called\n');
      await bench.output(`builtin cd "$OLDPWD"; builtin unset -f ${names.join(' ')}`);
      expect(await bench.output('cd /tmp; pwd; cd - >/dev/null')).toBe('/tmp\n');
    });

    it('carries aliases, also onto one line with their use', async () => {
      await define(`alias hi='echo "it'\\''s  an alias"' two='echo a
echo b' dash-ed='echo dashed'`);
      expect(await bench.output('hi; two; dash-ed')).toBe("it's  an alias\na\nb\ndashed\n");
      await define('unalias two');
      expect(await bench.run('two')).toMatchObject({ exit: { kind: 'exited', code: 127 } });
    });

    it('is not disturbed by aliases named like builtins and keywords', async () => {
      const names = ['unset', 'set', 'export', 'read', 'eval', 'printf', 'builtin', 'if', 'case', 'local', '.'];
      await bench.output(names.map((name) => `alias ${name}='echo alias-${name}'`).join('\n'));
      expect(await bench.output('echo untouched')).toBe('untouched\n');
      await bench.output('\\export BEHIND_ALIASES=1');
      expect(await bench.output('echo $BEHIND_ALIASES; set')).toBe('1\nalias-set\n');
      await bench.output(`\\unalias ${names.join(' ')}`);
      expect(await bench.output('set -- a b; echo $#')).toBe('2\n');
    });

    it('does not expand aliases in functions that were defined before them', async () => {
      await define('plain() { ls-ish; }; ls-ish() { echo function; }');
      await define('alias ls-ish="echo alias"');
      expect(await bench.output('plain; ls-ish')).toBe('function\nalias\n');
    });

    it('carries options of shopt', async () => {
      await define('shopt -s extglob nullglob dotglob; shopt -u sourcepath');
      expect(await bench.output('echo @(none|nothing)*; shopt nullglob dotglob sourcepath | cut -f2 | xargs')).toBe('\non on off\n');
      await define('shopt -u nullglob extglob dotglob; shopt -s sourcepath');
      expect(await bench.output('echo nothing*')).toBe('nothing*\n');
    });

    it('carries that aliases are switched off', async () => {
      await define('alias off="echo expanded"; shopt -u expand_aliases');
      expect(await bench.run('off')).toMatchObject({ exit: { kind: 'exited', code: 127 } });
      await define('shopt -s expand_aliases');
      expect(await bench.output('off')).toBe('expanded\n');
    });

    it('carries the umask', async () => {
      await define('umask 027');
      expect(await bench.output('umask; touch masked; stat -c %a masked; umask 022')).toBe('0027\n640\n');
    });

    it('carries everything past a command in posix mode', async () => {
      await define('export IN_POSIX=before');
      await define('set -o posix; export IN_POSIX=after AND=more; cd /usr');
      expect(await bench.output('echo "$IN_POSIX $AND $PWD"; greet you; cd - >/dev/null')).toBe('after more /usr\nhello you\n');
    });
  });

  describe('after a command that does not simply end', () => {
    const bench = useBench(engine);
    const change = (name: string): string => `export LEFT=${name}; cd /usr; f() { echo ${name}; }; alias a='echo ${name}'; umask 077`;
    const check = async (name: string): Promise<void> => {
      expect(await bench.output('echo "$LEFT"; pwd; f; umask; a')).toBe(`${name}\n/usr\n${name}\n0077\n${name}\n`);
      await bench.output('cd - >/dev/null; unset LEFT; unset -f f; unalias a; umask 022');
    };

    it('keeps the state of one that exits with a code', async () => {
      expect((await bench.run(`${change('exit')}; exit 3; echo never`)).exit).toEqual({ kind: 'exited', code: 3 });
      await check('exit');
    });

    it('keeps the state of one that fails', async () => {
      expect((await bench.run(`${change('failure')}; false`)).exit).toEqual({ kind: 'exited', code: 1 });
      await check('failure');
    });

    it('keeps the state of one that set -e ends', async () => {
      expect((await bench.run(`set -e; ${change('errexit')}; false; echo never`)).exit).toEqual({ kind: 'exited', code: 1 });
      await check('errexit');
    });

    it('keeps the state of one that set -u ends', async () => {
      expect((await bench.run(`set -u; ${change('nounset')}; echo "$undefined"; echo never`)).exit).toMatchObject({ kind: 'exited' });
      await check('nounset');
    });

    it('keeps the state of one that exits in a function in a loop', async () => {
      expect((await bench.run(`${change('deep')}; g() { while :; do exit 4; done; }; g | cat; g`)).exit).toEqual({
        kind: 'exited',
        code: 4,
      });
      await check('deep');
    });

    it('keeps the state of one that TERM ends, as a timeout does', async () => {
      const mark = sleepMark();
      const handle = await bench.start(`${change('timeout')}; sleep ${mark}`);
      await untilAsleep(bench.sandbox, mark);
      await handle.kill('TERM');
      expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'TERM' });
      await handle.kill('KILL');
      await check('timeout');
    });

    it('keeps the state of one that is interrupted', async () => {
      const mark = sleepMark();
      const handle = await bench.start(`${change('interrupt')}; sleep ${mark}; echo never`);
      await untilAsleep(bench.sandbox, mark);
      await handle.kill('INT');
      expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'INT' });
      await check('interrupt');
    });

    it('goes on with the state from before one that KILL ends', async () => {
      await bench.output(change('before'));
      const mark = sleepMark();
      const handle = await bench.start(`export LEFT=lost; sleep ${mark}`);
      await untilAsleep(bench.sandbox, mark);
      await handle.kill('KILL');
      expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
      await check('before');
    });

    it('goes on with the state from before one whose shell was replaced', async () => {
      await bench.output(change('replaced'));
      expect(await bench.run('export LEFT=lost; exec echo instead')).toMatchObject({
        stdout: 'instead\n',
        exit: { kind: 'exited', code: 0 },
      });
      await check('replaced');
    });

    it('runs its own EXIT trap once, with the code and after the command', async () => {
      const command = `trap 'echo "trap $?"' EXIT; ${change('trap')}; echo body; exit 5`;
      expect(await bench.run(command)).toMatchObject({ stdout: 'body\ntrap 5\n', exit: { kind: 'exited', code: 5 } });
      await check('trap');
    });

    it('lets an EXIT trap decide the code, and be removed', async () => {
      expect((await bench.run('trap "exit 9" EXIT; true')).exit).toEqual({ kind: 'exited', code: 9 });
      expect(await bench.run('trap "echo no" EXIT; trap - EXIT; true')).toMatchObject({ stdout: '', exit: { kind: 'exited', code: 0 } });
      expect((await bench.run('(trap "echo sub" EXIT; true); trap "" EXIT; echo main')).stdout).toBe('sub\nmain\n');
    });

    it('leaves traps for other signals to the command', async () => {
      expect((await bench.run(`trap 'echo caught' USR1; kill -USR1 $$; trap - USR1; trap -p USR1`)).stdout).toBe('caught\n');
    });

    it.each(['set -x', 'set -v', 'set -xv'])('prints with %s what bash prints and nothing of its own', async (option) => {
      const command = `${option}; ${change('traced')}\necho traced`;
      const { stdout, stderr } = await bench.run('bash -c "eval \\"\\$1\\"" bash "$1"', { args: [command] });
      expect(await bench.run(command)).toMatchObject({ stdout, stderr });
      await check('traced');
    });

    it('is not disturbed by DEBUG, ERR and RETURN traps', async () => {
      const traps = `trap 'echo debug >&2; echo debug' DEBUG; trap 'echo err; echo err >>errors' ERR`;
      const body = 'g() { false; }\ng\necho body\nfalse';
      const { stdout: expected } = await bench.run('bash -c "$1"', { args: [`${traps}\n${body}`] });
      const { stdout, exit } = await bench.run(`${change('debug')}\n${traps}\n${body}`);
      expect(stdout).toBe(expected);
      expect(exit).toEqual({ kind: 'exited', code: 1 });
      await check('debug');
    });

    it('keeps the state of a command that closed or redirected its streams', async () => {
      await bench.run(`${change('closed')}; exec >/dev/null 2>&1 </dev/null 3>&- 4>&-; exec >&- 2>&-`);
      await check('closed');
    });
  });
}
