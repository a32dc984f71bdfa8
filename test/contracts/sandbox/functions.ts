import { expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { useRig } from './rig.ts';

export function functionsContract(engine: TestEngine): void {
  const rig = useRig(engine);
  const define = async (source: string): Promise<void> => {
    await rig.output(source);
    // Not only by the next command, but by all that follow.
    await rig.output('true');
  };

  it('carries functions to later commands', async () => {
    await define('greet() { echo "hello $1"; }');
    expect(await rig.output('greet you')).toBe('hello you\n');
  });

  it('carries functions with a leading underscore without running their bodies', async () => {
    await define('_private() { echo private; touch ran; }');
    expect(await rig.output('[[ ! -e ran ]]; echo $?; _private; rm ran')).toBe('0\nprivate\n');
  });

  it('carries functions with any name bash takes', async () => {
    await define(
      'with-dash() { echo dash; }; with.dot() { echo dot; }; +() { echo plus; }; function if { echo word; }; zz::y() { echo colons; }',
    );
    expect(await rig.output('with-dash; with.dot; +; "if"; zz::y')).toBe('dash\ndot\nplus\nword\ncolons\n');
    await define('unset -f with-dash + if');
    expect(await rig.output('declare -F with-dash + if || echo none; with.dot')).toBe('none\ndot\n');
  });

  it('carries bodies with braces, loops and nested functions', async () => {
    await define(
      `braces() { { echo "}"; }; for i in {1..3}; do case $i in 2) echo "\${i}}" ;; esac; done; inner() { echo inner; }; inner; }`,
    );
    expect(await rig.output('braces')).toBe('}\n2}\ninner\n');
  });

  it('carries here-documents with a brace at the start of a line', async () => {
    await define("document() { cat <<'END'\n}\n{\n}\nEND\n}\nlast() { echo last; }");
    expect(await rig.output('document; last')).toBe('}\n{\n}\nlast\n');
  });

  it('carries here-documents that look like another function', async () => {
    const text = 'real () \n{ \n    echo forged\n}\n';
    await define(`maker() { cat <<'END'\n}\n${text}END\n}\nreal() { echo real; }`);
    expect(await rig.output('maker; real')).toBe(`}\n${text}real\n`);
    await define('real() { echo changed; }');
    expect(await rig.output('maker; real')).toBe(`}\n${text}changed\n`);
    await define('unset -f maker');
    expect(await rig.output('declare -F maker || real')).toBe('changed\n');
  });

  it('carries functions whose body is not a brace group, and their redirections', async () => {
    await define('sub() ( cd /; pwd ); loud() { echo aloud; } >&2');
    expect(await rig.run('sub; loud')).toMatchObject({ stdout: '/\n', stderr: 'aloud\n' });
  });

  it('carries the export of a function to programs', async () => {
    await define('exported() { echo from a program; }; export -f exported');
    expect(await rig.output("bash -c 'exported'")).toBe('from a program\n');
  });

  it('carries the removal of a function', async () => {
    await define('brief() { :; }');
    await define('unset -f brief');
    expect(await rig.output('declare -F brief || echo none')).toBe('none\n');
  });

  it('keeps working with functions named like builtins', async () => {
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
    await rig.output(names.map((name) => `${name}() { echo "${name} was called"; }`).join('\n'));
    expect(await rig.output('echo untouched')).toBe('untouched\n');
    await rig.output('builtin cd /usr; builtin export DESPITE=1');
    expect(await rig.output('builtin echo "$PWD $DESPITE"; cd')).toBe('/usr 1\ncd was called\n');
    await rig.output(`builtin cd "$OLDPWD"; builtin unset -f ${names.join(' ')}`);
    expect(await rig.output('cd /tmp; pwd; cd - >/dev/null')).toBe('/tmp\n');
  });

  it('carries aliases to later commands, even on the line of their use', async () => {
    await define(`alias hi='echo "it'\\''s  an alias"' two='echo a
echo b' dash-ed='echo dashed'`);
    expect(await rig.output('hi; two; dash-ed')).toBe("it's  an alias\na\nb\ndashed\n");
    await define('unalias two');
    expect(await rig.run('two')).toMatchObject({ exit: { kind: 'exited', code: 127 } });
  });

  it('keeps working with aliases named like builtins and keywords', async () => {
    const names = ['unset', 'set', 'export', 'read', 'eval', 'printf', 'builtin', 'if', 'case', 'local', '.'];
    await rig.output(names.map((name) => `alias ${name}='echo alias-${name}'`).join('\n'));
    expect(await rig.output('echo untouched')).toBe('untouched\n');
    await rig.output('\\export BEHIND_ALIASES=1');
    expect(await rig.output('echo $BEHIND_ALIASES; set')).toBe('1\nalias-set\n');
    await rig.output(`\\unalias ${names.join(' ')}`);
    expect(await rig.output('set -- a b; echo $#')).toBe('2\n');
  });

  it('does not expand aliases in functions that were defined before them', async () => {
    await define('plain() { ls-ish; }; ls-ish() { echo function; }');
    await define('alias ls-ish="echo alias"');
    expect(await rig.output('plain; ls-ish')).toBe('function\nalias\n');
  });

  it('carries shopt options to later commands', async () => {
    await define('shopt -s extglob nullglob dotglob; shopt -u sourcepath');
    expect(await rig.output('echo @(none|nothing)*; shopt nullglob dotglob sourcepath | cut -f2 | xargs')).toBe('\non on off\n');
    await define('shopt -u nullglob extglob dotglob; shopt -s sourcepath');
    expect(await rig.output('echo nothing*')).toBe('nothing*\n');
  });

  it('carries disabled alias expansion to later commands', async () => {
    await define('alias off="echo expanded"; shopt -u expand_aliases');
    expect(await rig.run('off')).toMatchObject({ exit: { kind: 'exited', code: 127 } });
    await define('shopt -s expand_aliases');
    expect(await rig.output('off')).toBe('expanded\n');
  });

  it('carries the umask to later commands', async () => {
    await define('umask 027');
    expect(await rig.output('umask; touch masked; stat -c %a masked; umask 022')).toBe('0027\n640\n');
  });

  it('carries the state past a command in posix mode', async () => {
    await define('export IN_POSIX=before');
    await define('set -o posix; export IN_POSIX=after AND=more; cd /usr');
    expect(await rig.output('echo "$IN_POSIX $AND $PWD"; greet you; cd - >/dev/null')).toBe('after more /usr\nhello you\n');
  });

  it('gives a plain shell the directory of the session and none of its other state', async () => {
    await define('export PLAIN=seen; cat() { echo function; }; alias ls="echo alias"; set -u -o noclobber; cd /usr');
    const command = 'echo "${PLAIN-unset} $undefined $PWD"; cat </dev/null; ls -d /; cd /; export LEFT=behind';
    expect(await rig.run(command, { plain: true })).toMatchObject({ stdout: 'unset  /usr\n/\n', stderr: '' });
    expect(
      await rig.output('echo "$PLAIN ${LEFT-unset} $PWD"; unset -f cat; unalias ls; unset PLAIN; set +u +o noclobber; cd - >/dev/null'),
    ).toBe('seen unset /usr\n');
    expect(await rig.output('echo $PLAIN', { plain: true })).toBe('\n');
  });

  it('returns the functions and aliases of the session as source', async () => {
    await define("shown() { echo 'é'; }; alias also='ls -l'");
    const { shown, also, ...others } = rig.sandbox.definitions;
    expect([shown, also]).toEqual([expect.stringMatching(/^shown \(\)[\s\S]*echo 'é'/), expect.stringContaining("also='ls -l'")]);
    expect(Object.keys(others).filter((name) => name.startsWith('__hermetic'))).toEqual([]);
    await define('unset -f shown; unalias also');
    expect(rig.sandbox.definitions).not.toHaveProperty('shown');
  });
}
