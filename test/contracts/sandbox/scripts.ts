import { expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { useRig } from './rig.ts';

export function scriptsContract(engine: TestEngine): void {
  const rig = useRig(engine);

  it('runs a script with a line of 1 MB', async () => {
    const word = 'x'.repeat(1024 * 1024);
    expect(await rig.output(`text=${word}; echo \${#text}`)).toBe(`${word.length}\n`);
  });

  it('runs a script of 10,000 lines', async () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => `total=$((total + ${index}))`);
    expect(await rig.output(`${lines.join('\n')}\necho $total`)).toBe('49995000\n');
  });

  it.each([100, 4000, 4096, 8192, 16_384, 65_535, 65_536, 70_000, 131_072, 200_000])(
    'runs a script of %d bytes completely',
    async (length) => {
      const comment = `#${'ü'.repeat(Math.floor(length / 2))}`;
      expect(await rig.output(`echo "first $1"\n${comment}\ncat`, { args: ['argument'] })).toBe('first argument\n');
    },
  );

  it('runs here-documents with any delimiter', async () => {
    const command = `name=world\ncat <<END\nhello $name\nEND\ncat <<'END'\nhello $name\n}\nEND\ncat <<-TAB\n\thidden tab\n\tTAB\ncat <<<"here string"`;
    expect(await rig.output(command)).toBe('hello world\nhello $name\n}\nhidden tab\nhere string\n');
  });

  it('runs a script that ends inside a here-document, as bash does', async () => {
    const { stdout, stderr } = await rig.run('cat <<END\nno end');
    expect(stdout).toBe('no end\n');
    expect(stderr).toMatch(/here-document/);
  });

  it('treats a #! line as a comment', async () => {
    expect(await rig.output('#!/usr/bin/env python3\necho "$BASH_VERSION" | cut -c1')).toMatch(/^\d\n$/);
  });

  it('runs a script with Windows line endings', async () => {
    expect(await rig.output('if true; then\r\n  echo yes\r\nfi\r\ncat <<END\r\ntext\r\nEND\r\n')).toBe('yes\ntext\n');
  });

  it('keeps a carriage return inside a line', async () => {
    expect(await rig.output("printf '%s' 'a\rb'\nprintf '%s\n' 'c\r'")).toBe('a\rbc\r\n');
  });

  it.each([`echo 'open`, 'echo "open', 'echo $(open', 'if true; then echo', '{ echo', 'echo )', 'for', 'case x in', 'f() {', 'echo `open'])(
    'reports a syntax error for %j and does not hang',
    async (command) => {
      const { stderr, exit } = await rig.run(command);
      expect(exit).toMatchObject({ kind: 'exited' });
      expect(exit).not.toMatchObject({ code: 0 });
      expect(stderr).toMatch(/syntax error|unexpected/);
    },
  );

  it('keeps the state of the session after a syntax error', async () => {
    await rig.run('export KEPT=1; cd /usr');
    await rig.run("export KEPT=2; echo '");
    expect(await rig.output('echo "$KEPT $PWD"; cd - >/dev/null')).toMatch(/^[12] \/usr\n$/);
  });

  it.each([
    ['the command', { command: 'echo a\0b' }],
    ['an argument', { command: 'echo', args: ['a\0'] }],
    ['a value', { command: 'echo', env: { A: '\0' } }],
    ['the directory', { command: 'echo', cwd: '/\0' }],
  ])('refuses a NUL byte in %s before anything starts', async (_, request) => {
    await expect(rig.sandbox.exec(request)).rejects.toMatchObject({ code: 'sandbox/bad-command' });
  });

  it.each(['', ' ', '\n\n', '# only a comment', '   # indented\n# twice', ':', '\\\n'])(
    'succeeds silently for an empty script: %j',
    async (command) => {
      expect(await rig.run(command)).toMatchObject({ stdout: '', stderr: '', exit: { kind: 'exited', code: 0 } });
    },
  );

  it('runs a command that starts with a dash as a command, not as an option', async () => {
    expect(await rig.run('-c "echo no"')).toMatchObject({ stdout: '', exit: { kind: 'exited', code: 127 } });
    expect(await rig.run('--help')).toMatchObject({ exit: { kind: 'exited', code: 127 } });
  });

  it('passes arguments unchanged, never as shell text', async () => {
    const args = [
      '',
      ' ',
      '$(touch injected)',
      '`touch injected`',
      '; touch injected',
      `it's "quoted"`,
      'a\nb',
      '-n',
      '--',
      '*',
      '~',
      '\\',
      'ünï',
      '1 2',
    ];
    expect(await rig.output('printf "%s\\0" "$#" "$@"', { args })).toBe(`${[args.length, ...args].join('\0')}\0`);
    expect(await rig.succeeds('[[ -e injected ]]')).toBe(false);
  });

  it('passes a thousand arguments and long ones', async () => {
    const args = [...Array.from({ length: 1000 }, (_, index) => String(index)), 'x'.repeat(300_000)];
    expect(await rig.output('echo "$# ${@:1000:1} ${#1001}"', { args })).toBe('1001 999 300000\n');
  });

  it('gives a script no arguments and the name bash by default', async () => {
    expect(await rig.output('echo "$0 $#"')).toBe('bash 0\n');
  });

  it('prints text that is not ASCII as it was written', async () => {
    expect(await rig.output("echo 日本 naïve '🦀'")).toBe('日本 naïve 🦀\n');
  });

  it('protects a script from a shell that an earlier script spoiled', async () => {
    await rig.run(
      'exec 1>&- 2>&-; ulimit -n 20; set -f; exit() { :; }; readonly plain=1; trap "" TERM; bind -x 2>/dev/null; cd /proc/self',
    );
    expect(await rig.output('cd "$1"; echo $-; [[ $(ulimit -n) -gt 20 ]] && echo fine; unset -f exit', { args: [rig.workdir] })).toMatch(
      /^[^f]*\nfine\n$/,
    );
  });

  it('continues after a return outside of a function', async () => {
    expect(await rig.run('return 3; echo "went on with $?"')).toMatchObject({ exit: { kind: 'exited', code: 0 } });
  });

  it('sources a file and counts its own lines', async () => {
    await rig.output('echo "sourced=\\$1" >file.sh');
    expect(await rig.output('. ./file.sh one; echo "$sourced"\necho $LINENO')).toBe('one\n2\n');
  });
}
