import { expect, it } from 'vitest';
import type { TestEngine } from '../engines.ts';
import { useCode } from './code-rig.ts';

export function pythonTests(engine: TestEngine): void {
  const code = useCode(engine);
  const output = (script: string) => code.output('python', script);

  it('passes values by order and by name in Python, and returns the result of the tool', async () => {
    const script = `
from hermetic_tools import echo_text as echo
import hermetic_tools
print(echo("a", 2, parts=[1, 2.5, None, True, {"k": ["ü", "\\U0001f600"]}]))
print(hermetic_tools.echo_text(text="b", loud=True, times=None)["text"])`;
    expect(await output(script)).toBe("{'text': 'aa', 'parts': [1, 2.5, None, True, {'k': ['ü', '😀']}]}\nB\n");
  });

  it('explains a wrong call in Python', async () => {
    const script = `
def attempt(action):
    try:
        action()
    except (ToolError, TypeError) as error:
        print(type(error).__name__, error)
attempt(lambda: echo_text(5))
attempt(lambda: echo_text("a", tims=2))
attempt(lambda: echo_text("a", text="b"))
attempt(lambda: echo_text(1, 2, 3, 4, 5))
attempt(lambda: echo_text(b"bytes"))`;
    const lines = (await output(script)).split('\n');
    expect(lines[0]).toMatch(/^ToolError The input of echo_text is not valid\. text: .*expected string/);
    expect(lines.slice(1)).toEqual([
      'TypeError echo_text() takes text, times, loud, parts; not tims',
      'TypeError echo_text was given text twice',
      'TypeError echo_text() takes text, times, loud, parts; it was given 5 values',
      'TypeError a tool cannot be given a bytes',
      '',
    ]);
  });

  it('passes any text both ways in Python, even a long one', async () => {
    const script = `
texts = ["", "\\0\\x01\\x7f\\r\\n\\t\\"\\\\", "ünï \\u2028 \\U0001f600", "'" * 3, "long \\n" * 200_000]
for text in texts:
    assert echo_text(text)["text"] == text, repr(text[:20])
assert echo_text("x", 3_000_000)["text"] == "x" * 3_000_000
print("same")`;
    expect(await output(script)).toBe('same\n');
  });

  it('passes 700 kB both ways in Python', async () => {
    const script = 'text = "ü=-a" * 140000\nprint(echo_text(text)["text"] == text, echo_text(text=text)["text"] == text)';
    expect(await code.output('python', script, { maxBytes: 1_000_000 })).toBe('True True\n');
  });

  it('refuses arguments that are too long in Python, and the script continues', async () => {
    const script =
      'try:\n    echo_text("x" * 9_000_000)\nexcept ToolError as error:\n    print(error)\nprint(len(echo_text("x" * 8_000_000)["text"]))';
    expect(await output(script)).toMatch(/^the arguments of echo_text are too long; at most \d+ bytes\n8000000\n$/);
  });

  it('returns each of several Python threads its own answer', async () => {
    const script = `
import threading
wrong = []
def ask(n):
    for turn in range(3):
        text = "%d-%d" % (n, turn)
        if command("sleep 0.0%d; echo %s" % (9 - n, text))["output"] != text + "\\n":
            wrong.append(text)
threads = [threading.Thread(target=ask, args=(n,)) for n in range(9)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(wrong)`;
    expect(await code.run('python', script)).toMatchObject({ status: 'success', output: '[]\n', tool_calls: 27 });
  });

  it('shows script lines in a traceback that the script formats, even beside a file of its name', async () => {
    const script = ['import traceback', 'try:', '    1 / 0', 'except ZeroDivisionError:', '    print(traceback.format_exc())'].join('\n');
    expect(await output(script)).toContain('File "script.py", line 3, in <module>\n    1 / 0\n');
    await code.rig.sandbox.writeFile('script.py', 'not\nthe\nscript\n');
    expect(await output(`import os\nos.remove("script.py")\n${script}`)).toContain('File "script.py", line 5, in <module>\n    1 / 0\n');
  });

  it('shows only script lines in the traceback of an uncaught error', async () => {
    const script = `def inner():
    echo_text(7)

def outer():
    try:
        inner()
    except ToolError as error:
        raise ValueError("no") from error

outer()`;
    const { status, exit_code, output } = await code.run('python', script);
    expect({ status, exit_code }).toEqual({ status: 'error', exit_code: 1 });
    expect(output.replace(/^[ ~^]+\n/gm, '')).toMatch(
      /^Traceback \(most recent call last\):\n {2}File "script.py", line 6, in outer\n {4}inner\(\)\n {2}File "script.py", line 2, in inner\n {4}echo_text\(7\)\nhermetic_tools.ToolError: .*\n\nThe above exception .*\n\nTraceback .*\n {2}File "script.py", line 10, in <module>\n {4}outer\(\)\n {2}File "script.py", line 8, in outer\n.*\nValueError: no\n$/,
    );
  });

  it('shows the line of a syntax error in Python', async () => {
    const { exit_code, output } = await code.run('python', 'x = 1\nif x\n    pass');
    expect(exit_code).toBe(1);
    expect(output).toMatch(/^ {2}File "script.py", line 2\n {4}if x\n/);
  });

  it('shows the traceback of a Python thread', async () => {
    const script = 'import threading\ndef f():\n    echo_text(1)\nt = threading.Thread(target=f, name="worker")\nt.start()\nt.join()';
    const { status, output } = await code.run('python', script);
    expect(status).toBe('success');
    expect(output).toMatch(/^Exception in thread worker:\nTraceback/);
    expect(output).toContain('File "script.py", line 3, in f\n');
    expect(output).not.toContain('<hermetic>');
  });

  it.each([
    ['import sys; sys.exit()', 0, ''],
    ['import sys; sys.exit(7)', 7, ''],
    ['import sys; sys.exit("words")', 1, 'words\n'],
    ['raise SystemExit(9)', 9, ''],
    ['import os; os._exit(4)', 4, ''],
  ])('exits with the code of the Python script: %s', async (script, exit_code, output) => {
    expect(await code.run('python', script)).toMatchObject({ exit_code, output, status: exit_code === 0 ? 'success' : 'error' });
  });

  it('runs a Python script as the main module in the directory of the session', async () => {
    await code.rig.output('mkdir -p place && cd place && echo "VALUE = 5" >beside.py && echo boom >threading.py && echo boom >json.py');
    const script = `
import os, sys
from beside import VALUE
print(__name__, sys.argv, os.path.basename(__file__), VALUE, os.path.basename(os.getcwd()))
print(__import__("__main__").VALUE)`;
    expect(await output(script)).toBe("__main__ ['script.py'] script.py 5 place\n5\n");
    await code.rig.output('cd ..; rm -r place');
  });

  it('hides the channel to the host from processes that a Python script starts', async () => {
    const script = `
import os, subprocess
print(subprocess.run(["bash", "-c", "ls /proc/self/fd | tr '\\\\n' ' '"], close_fds=False, capture_output=True, text=True).stdout)
pid = os.fork()
if pid == 0:
    try:
        echo_text("x")
    except ToolError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print(echo_text("still here")["text"])`;
    const [descriptors, forked, after] = (await output(script)).split('\n').filter((line) => line !== '');
    expect(descriptors?.split(' ')).not.toContain('238');
    expect(descriptors?.split(' ')).not.toContain('239');
    expect(forked).toMatch(/not by a process it forked$/);
    expect(after).toBe('still here');
  });

  it('keeps what the tools of a script change in the session', async () => {
    const script = 'command("mkdir -p deep/er; cd deep; export MARK=1")\nprint(command("pwd; echo $MARK; cd er")["output"])';
    const before = code.rig.sandbox.cwd;
    expect(await output(script)).toBe(`${before}/deep\n1\n\n`);
    expect(code.rig.sandbox.cwd).toBe(`${before}/deep/er`);
    expect(await output('import os; print(os.getcwd())')).toBe(`${before}/deep/er\n`);
    await code.rig.output('cd ../..; unset MARK');
  });
}
