import { expect, it } from 'vitest';
import type { TestEngine } from '../engines.ts';
import { useCode } from './code-rig.ts';

export function bashTests(engine: TestEngine): void {
  const code = useCode(engine);
  const output = (script: string) => code.output('bash', script);

  it('passes values by order and by name in bash, and prints the text of the result', async () => {
    const script = `
echo_text one
echo_text --times 2 --loud=true 'two  words'
echo_text x --parts '[1, {"k": "ü"}]'
echo_text -- --times
text=$(echo_text 'a
b'); echo "<$text>"`;
    expect(await output(script)).toBe('one\nTWO  WORDSTWO  WORDS\nx\n- 1\n- {"k":"ü"}\n--times\n<a\nb>\n');
  });

  it('passes standard input as the missing value in bash', async () => {
    expect(await output(`printf 'a\\nb\\n' | echo_text --times 2\necho_text <<<"ünï"\ncommand 'echo direct' </dev/null`)).toBe(
      'a\nb\na\nb\nünï\ndirect\n',
    );
  });

  it('explains a wrong call in bash, and the script continues', async () => {
    const script = `
echo_text a --times many; echo $?
echo_text --nothing; echo $?
echo_text 1 2 3 4 5; echo $?
echo_text --text; echo $?
printf 'a\\0b' | echo_text; echo $?
printf -v long '%09000000d' 1; echo_text "$long"; echo $?`;
    const lines = (await output(script)).trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/^echo_text: The input of echo_text is not valid\. times: /),
      '1',
      'echo_text: there is no --nothing; there are: text times loud parts',
      '2',
      'echo_text: too many arguments; there are: text times loud parts',
      '2',
      'echo_text: --text needs a value',
      '2',
      'echo_text: standard input has a NUL byte',
      '2',
      expect.stringMatching(/^echo_text: too long; at most \d+ bytes$/),
      '2',
    ]);
  });

  it('passes a long text both ways in bash', async () => {
    const script = `
printf -v text '%0200000d\\nü' 7
[[ $(echo_text "$text") == "$text" ]] && echo same
long=$(echo_text x --times 500000); echo \${#long}`;
    expect(await code.output('bash', script, { maxBytes: 1_000_000 })).toBe('same\n500000\n');
  });

  it('passes 700 kB by every kind of argument in bash', async () => {
    const script = `
export LC_ALL=C.UTF-8
text=$(yes 'ü=-a' | head -n 140000 | tr -d '\\n')
[[ $(echo_text "$text") == "$text" ]] && echo in order
[[ $(echo_text --text "$text") == "$text" ]] && echo by name
[[ $(echo_text --text="$text") == "$text" ]] && echo with a sign
[[ $(echo_text -- "--$text") == "--$text" ]] && echo as a value
[[ $(printf '%s\n' "$text" | echo_text) == "$text" ]] && echo by input
echo_text "--none$(tr = - <<<"$text")" 2>/dev/null || echo refused`;
    const ways = 'in order\nby name\nwith a sign\nas a value\nby input\nrefused\n';
    expect(await code.output('bash', script, { maxBytes: 1_000_000 })).toBe(ways);
  });

  it('lets bash call tools from several processes and from pipelines that end early', async () => {
    const script = `
set -euo pipefail
for n in 1 2 3 4 5 6; do { got=$(command "sleep 0.0$n; echo $n"); [[ $got == "$n" ]] && echo right; } & done
wait
set +o pipefail
echo_text "a
b" | { read -r first; echo "$first"; }
echo_text after`;
    expect(await output(script)).toBe('right\nright\nright\nright\nright\nright\na\nafter\n');
  });

  it('numbers the lines of errors as in the bash script', async () => {
    const { exit_code, output } = await code.run('bash', 'true\n\nno_such_program\nif then');
    expect(exit_code).toBe(2);
    expect(output).toMatch(/^script\.bash: line 3: no_such_program: command not found\nscript\.bash: (?:eval: )?line 4: syntax error/);
  });

  it('runs a bash script in a fresh shell, apart from the session', async () => {
    await code.rig.output('shopt -s failglob; alias echo="echo alias"; exec() { echo function; }; env() { echo function; }; cat() { :; }');
    await code.output('bash', 'cd /; export LEFT=1; left() { :; }');
    expect(await output('echo *.none "$0" $#; cat <<<x')).toBe('*.none script.bash 0\nx\n');
    expect(await code.rig.output('declare -p LEFT 2>/dev/null; printf %s "$PWD"')).toBe(code.rig.workdir);
    await code.rig.output('shopt -u failglob; unalias echo; unset -f exec env cat');
  });
}
