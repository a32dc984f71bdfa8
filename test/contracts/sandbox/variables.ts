import { expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { useBench } from './bench.ts';

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

export function variablesContract(engine: TestEngine): void {
  const bench = useBench(engine, { env: { GIVEN: 'by the spec', PATH: '/opt/own:/usr/local/bin:/usr/bin:/bin' } });

  it('carries exports to every later command', async () => {
    await bench.run('export CARRIED=one ALSO=two');
    expect(await bench.output('echo "$CARRIED $ALSO"')).toBe('one two\n');
    expect(await bench.output('printenv CARRIED')).toBe('one\n');
  });

  it('starts with the variables of the spec, which no profile changes', async () => {
    expect(await bench.output('echo "$GIVEN $PATH"')).toBe('by the spec /opt/own:/usr/local/bin:/usr/bin:/bin\n');
  });

  it('carries the removal of a variable, even of one from the spec', async () => {
    await bench.run('export GONE=1');
    await bench.run('unset GONE GIVEN');
    expect(await bench.output('echo "${GONE-unset} ${GIVEN-unset}"')).toBe('unset unset\n');
    await bench.run('export GIVEN="by a command"');
    expect(await bench.output('echo "$GIVEN"')).toBe('by a command\n');
  });

  it('carries the removal of an export', async () => {
    await bench.run('export BRIEFLY=1');
    await bench.run('export -n BRIEFLY');
    expect(await bench.run('printenv BRIEFLY')).toMatchObject({ stdout: '', exit: { kind: 'exited', code: 1 } });
  });

  it.each(Object.entries(awkward))('carries a variable with a value of %s', async (_, value) => {
    await bench.run('export AWKWARD="$1"', { args: [value] });
    expect(await bench.output('printf %s "$AWKWARD"')).toBe(value);
    expect(await bench.output('echo "${INJECTED-none}"; [[ ! -e oops ]]')).toBe('none\n');
  });

  it('carries a variable with bytes that are not UTF-8', async () => {
    const bytes = Buffer.from(Array.from({ length: 255 }, (_, index) => index + 1));
    await bench.run(`export BYTES=$'${[...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}'`);
    expect((await bench.run('printf %s "$BYTES"')).bytes).toEqual(bytes);
  });

  it('carries a large variable', async () => {
    await bench.run('printf -v LARGE %30000s; part="a\'b"; export LARGE="${LARGE// /$part}"');
    expect(await bench.output('echo ${#LARGE}; printenv LARGE | wc -c; unset LARGE')).toBe('90000\n90001\n');
  });

  it('carries attributes of variables and exported arrays', async () => {
    await bench.run('declare -ix COUNT=3; declare -ax LIST=(a "b c" $\'d\\ne\')');
    expect(await bench.output('COUNT+=4; echo $COUNT; printf "<%s>" "${LIST[@]}"')).toBe('7\n<a><b c><d\ne>');
  });

  it('drops variables that were not exported and options of set', async () => {
    await bench.run('plain=1; set -euo pipefail');
    expect(await bench.output('echo "${plain-unset}"; false; echo "$undefined on"')).toBe('unset\n on\n');
  });

  it('keeps all of six exports made at the same time', async () => {
    const names = ['A', 'B', 'C', 'D', 'E', 'F'].map((letter) => `PARALLEL_${letter}`);
    await Promise.all(names.map((name) => bench.run(`export ${name}=${name}`)));
    expect(await bench.output(`echo ${names.map((name) => `$${name}`).join(' ')}`)).toBe(`${names.join(' ')}\n`);
  });

  it('keeps what short commands changed while a long one ran', async () => {
    const long = await bench.start('export LONG=1; read; unset PARALLEL_A', { stdin: 'open' });
    await bench.run('export SHORT=2; cd /usr');
    await long.write('\n');
    await long.exit;
    expect(await bench.output('echo "$LONG $SHORT $PWD ${PARALLEL_A-unset} $PARALLEL_B"; cd - >/dev/null')).toBe(
      '1 2 /usr unset PARALLEL_B\n',
    );
  });

  it('sets a variable for one command only', async () => {
    await bench.run('export KEPT=session');
    const env = { ONCE: `it's $HOME "quoted"\nline`, KEPT: 'call' };
    expect(await bench.output('printf "%s|%s" "$(printenv ONCE)" "$KEPT"; export NEW=1', { env })).toBe(`${env.ONCE}|call`);
    expect(await bench.output('echo "${ONCE-unset} $KEPT $NEW"')).toBe('unset session 1\n');
  });

  it('prints no state after a stateless command', async () => {
    const command = '__hermetic_dump() { : >printed; }; true';
    await bench.run(command, { stateless: true });
    expect(await bench.succeeds('[[ -e printed ]]')).toBe(false);
    await bench.run(command);
    expect(await bench.succeeds('[[ -e printed ]]')).toBe(true);
    await bench.run('rm printed');
  });

  it('keeps the session unchanged by a stateless command', async () => {
    await bench.run('cd /tmp; export STATELESS=1; f_stateless() { :; }', { stateless: true });
    expect(await bench.output('echo "${STATELESS-unset} $PWD"; ! declare -F f_stateless')).toBe(`unset ${bench.workdir}\n`);
  });

  it.each(['A B', '', '1A', 'A-B', 'A=B', 'A\0'])('refuses %j as the name of a variable', async (name) => {
    await expect(bench.start('true', { env: { [name]: 'x' } })).rejects.toMatchObject({ code: 'sandbox/bad-command' });
  });

  it('leaves no internal variable in the environment of a program', async () => {
    expect(await bench.output('env | grep __ || echo clean')).toBe('clean\n');
  });
}
