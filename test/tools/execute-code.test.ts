import { describe, expect, it } from 'vitest';
import type { Action } from '../../src/core/approval.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { describeNeeding, shownBy } from '../needs.ts';
import { bashTests } from './code-bash.ts';
import { endTests } from './code-ends.ts';
import { environmentTests } from './code-environment.ts';
import { javascriptTests } from './code-javascript.ts';
import { pythonTests } from './code-python.ts';
import { useCode } from './code-rig.ts';

for (const kind of ['local', 'bubblewrap', 'docker']) {
  await describeBackend(kind, (engine) => {
    const python = shownBy(engine.backend, 'python3');
    describeNeeding(python, 'scripts', () => scriptTests(engine));
    describeNeeding(python, 'scripts in Python', () => pythonTests(engine));
    describe('scripts in JavaScript', () => javascriptTests(engine));
    describe('scripts in bash', () => bashTests(engine));
    describeNeeding(python, 'the environment of a script', () => environmentTests(engine));
    describe('the end of a script', () => endTests(engine));
  });
}

function scriptTests(engine: TestEngine): void {
  const code = useCode(engine);

  it('declares the whole script before it runs, and does not run it when denied', async () => {
    const seen: Action[] = [];
    const guard = (action: Action) => {
      seen.push(action);
      return { allowed: false, reason: 'Not today.' } as const;
    };
    const script = 'open("marker", "w").write("x")';
    expect(await code.call('python', script, { guard })).toMatchObject({ ok: false, failure: 'denied', text: 'Not today.' });
    expect(seen).toEqual([{ kind: 'script', language: 'python', code: script, cwd: code.rig.sandbox.cwd }]);
    expect(await code.rig.succeeds('[[ -e marker ]]')).toBe(false);
  });

  it('asks for each tool call of a script, and reports a denial to it', async () => {
    const guard = (action: Action) =>
      action.kind === 'command' && action.command.includes('forbidden')
        ? ({ allowed: false, reason: 'That is forbidden.' } as const)
        : ({ allowed: true } as const);
    const script = `
print(command("echo allowed")["output"], end="")
try:
    command("touch forbidden")
except ToolError as error:
    print(error, error.failure)`;
    expect(await code.output('python', script, { guard })).toBe('allowed\nThat is forbidden. denied\n');
    expect(await code.rig.succeeds('[[ -e forbidden ]]')).toBe(false);
  });

  it('refuses tool calls beyond the limit, and the script continues', async () => {
    const script = `
for n in range(5):
    try:
        print(echo_text(str(n))["text"])
    except ToolError as error:
        print(error)`;
    const result = await code.run('python', script, { settings: { maxToolCalls: 3 } });
    const refusal = 'A script may call tools 3 times, and this one has.\n';
    expect(result).toMatchObject({ status: 'success', tool_calls: 3, output: `0\n1\n2\n${refusal}${refusal}` });
  });

  it('offers a script only the tools for scripts, and never execute_code', async () => {
    const script = `
import hermetic_tools
print([name in globals() for name in ("command", "echo_text", "hidden", "execute_code")])
print(sorted(name for name in vars(hermetic_tools) if not name.startswith("_")))`;
    expect(await code.output('python', script)).toBe("[True, True, False, False]\n['ToolError', 'command', 'echo_text']\n");
  });

  it('shows the output of a script while it runs', async () => {
    const seen: string[] = [];
    const script = 'print("first"); command("sleep 0.3"); print("second")';
    await code.output('python', script, { progress: (text) => seen.push(text) });
    expect(seen.join('')).toBe('first\nsecond\n');
  });

  it('gives a script an empty standard input, and keeps the order of both streams', async () => {
    const script = 'import sys\nprint(repr(sys.stdin.read()))\nprint("err", file=sys.stderr)\nprint("out")';
    expect(await code.output('python', script)).toBe("''\nerr\nout\n");
  });

  it('runs a script that is longer than an argument can be', async () => {
    const script = `text = """${'x'.repeat(400_000)}"""\nprint(len(text))`;
    expect(await code.output('python', script)).toBe('400000\n');
  });

  it('refuses a script with a NUL character', async () => {
    expect(await code.call('bash', 'echo \0')).toMatchObject({ ok: false, failure: 'bad-input', text: expect.stringContaining('NUL') });
  });

  it('refuses a timeout above the maximum', async () => {
    const result = await code.call('bash', 'true', { timeout: 61 });
    expect(result).toMatchObject({ ok: false, failure: 'bad-input', text: expect.stringContaining('at most 60 seconds') });
  });

  it('reports the exit code of a script to the model', async () => {
    expect(await code.call('bash', 'printf half; exit 3')).toMatchObject({ ok: true, text: 'half\n[It exited with code 3.]' });
    expect(await code.call('bash', 'true')).toMatchObject({ ok: true, text: '[no output]' });
  });

  it('keeps the beginning and the end of a long output, and all of it in a file', async () => {
    const script = 'for n in range(20000): print("line", n)';
    const result = await code.run('python', script, { maxBytes: 2000 });
    expect(result).toMatchObject({ status: 'success', truncated: true });
    expect(result.output.length).toBeLessThan(3000);
    expect(result.output).toMatch(/^line 0\n[\s\S]*line 19999\n$/);
    expect(await code.rig.output(`wc -l <'${result.output_file}'`)).toMatch(/^\s*20000\n$/);
  });
}
