import { expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { useRig } from './rig.ts';

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
  const rig = useRig(engine, { env: { GIVEN: 'by the spec', PATH: '/opt/own:/usr/local/bin:/usr/bin:/bin' } });

  it('carries exports to every later command', async () => {
    await rig.run('export CARRIED=one ALSO=two');
    expect(await rig.output('echo "$CARRIED $ALSO"')).toBe('one two\n');
    expect(await rig.output('printenv CARRIED')).toBe('one\n');
  });

  it('starts with the variables of the spec, which no profile changes', async () => {
    expect(await rig.output('echo "$GIVEN $PATH"')).toBe('by the spec /opt/own:/usr/local/bin:/usr/bin:/bin\n');
  });

  it('carries the removal of a variable, even of one from the spec', async () => {
    await rig.run('export GONE=1');
    await rig.run('unset GONE GIVEN');
    expect(await rig.output('echo "${GONE-unset} ${GIVEN-unset}"')).toBe('unset unset\n');
    await rig.run('export GIVEN="by a command"');
    expect(await rig.output('echo "$GIVEN"')).toBe('by a command\n');
  });

  it('carries the removal of an export', async () => {
    await rig.run('export BRIEFLY=1');
    await rig.run('export -n BRIEFLY');
    expect(await rig.run('printenv BRIEFLY')).toMatchObject({ stdout: '', exit: { kind: 'exited', code: 1 } });
  });

  it.each(Object.entries(awkward))('carries a variable with a value of %s', async (_, value) => {
    await rig.run('export AWKWARD="$1"', { args: [value] });
    expect(await rig.output('printf %s "$AWKWARD"')).toBe(value);
    expect(await rig.output('echo "${INJECTED-none}"; [[ ! -e oops ]]')).toBe('none\n');
  });

  it('carries a variable with bytes that are not UTF-8', async () => {
    const bytes = Buffer.from(Array.from({ length: 255 }, (_, index) => index + 1));
    await rig.run(`export BYTES=$'${[...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}'`);
    expect((await rig.run('printf %s "$BYTES"')).bytes).toEqual(bytes);
  });

  it('carries a large variable', async () => {
    await rig.run('printf -v LARGE %30000s; part="a\'b"; export LARGE="${LARGE// /$part}"');
    expect(await rig.output('echo ${#LARGE}; printenv LARGE | wc -c; unset LARGE')).toBe('90000\n90001\n');
  });

  it('carries attributes of variables and exported arrays', async () => {
    await rig.run('declare -ix COUNT=3; declare -ax LIST=(a "b c" $\'d\\ne\')');
    expect(await rig.output('COUNT+=4; echo $COUNT; printf "<%s>" "${LIST[@]}"')).toBe('7\n<a><b c><d\ne>');
  });

  it('drops variables that were not exported and options of set', async () => {
    await rig.run('plain=1; set -euo pipefail');
    expect(await rig.output('echo "${plain-unset}"; false; echo "$undefined on"')).toBe('unset\n on\n');
  });

  it('keeps all of six exports made at the same time', async () => {
    const names = ['A', 'B', 'C', 'D', 'E', 'F'].map((letter) => `PARALLEL_${letter}`);
    await Promise.all(names.map((name) => rig.run(`export ${name}=${name}`)));
    expect(await rig.output(`echo ${names.map((name) => `$${name}`).join(' ')}`)).toBe(`${names.join(' ')}\n`);
  });

  it('keeps what short commands changed while a long one ran', async () => {
    const long = await rig.start('export LONG=1; read; unset PARALLEL_A', { stdin: 'open' });
    await rig.run('export SHORT=2; cd /usr');
    await long.write('\n');
    await long.exit;
    expect(await rig.output('echo "$LONG $SHORT $PWD ${PARALLEL_A-unset} $PARALLEL_B"; cd - >/dev/null')).toBe(
      '1 2 /usr unset PARALLEL_B\n',
    );
  });

  it('sets a variable for one command only', async () => {
    await rig.run('export KEPT=session');
    const env = { ONCE: `it's $HOME "quoted"\nline`, KEPT: 'call' };
    expect(await rig.output('printf "%s|%s" "$(printenv ONCE)" "$KEPT"; export NEW=1', { env })).toBe(`${env.ONCE}|call`);
    expect(await rig.output('echo "${ONCE-unset} $KEPT $NEW"')).toBe('unset session 1\n');
  });

  it('prints no state after a stateless command', async () => {
    const command = '__hermetic_dump() { : >printed; }; true';
    await rig.run(command, { stateless: true });
    expect(await rig.succeeds('[[ -e printed ]]')).toBe(false);
    await rig.run(command);
    expect(await rig.succeeds('[[ -e printed ]]')).toBe(true);
    await rig.run('rm printed');
  });

  it('keeps the session unchanged by a stateless command', async () => {
    await rig.run('cd /tmp; export STATELESS=1; f_stateless() { :; }', { stateless: true });
    expect(await rig.output('echo "${STATELESS-unset} $PWD"; ! declare -F f_stateless')).toBe(`unset ${rig.workdir}\n`);
  });

  it.each(['A B', '', '1A', 'A-B', 'A=B', 'A\0'])('refuses %j as the name of a variable', async (name) => {
    await expect(rig.start('true', { env: { [name]: 'x' } })).rejects.toMatchObject({ code: 'sandbox/bad-command' });
  });

  it('leaves no internal variable in the environment of a program', async () => {
    expect(await rig.output('env | grep __ || echo clean')).toBe('clean\n');
  });
}
