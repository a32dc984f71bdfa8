import { afterEach, describe, expect, it } from 'vitest';
import { describeBackend, type TestEngine } from '../engines.ts';
import { describeNeeding, shownBy } from '../needs.ts';
import { type CodeRig, useCode } from './code-rig.ts';

/** What a script needs to talk to the host by itself. The harness reads nothing as long as no tool is called through it. */
const raw = `
import os, time
def write(data):
    while data:
        data = data[os.write(239, data):]
def frame(*fields):
    fields = [field if isinstance(field, bytes) else str(field).encode() for field in fields]
    return " ".join(str(len(field)) for field in fields).encode() + b"\\n" + b"".join(fields)
def read_frame():
    line = b""
    while not line.endswith(b"\\n"): line += os.read(238, 1)
    fields = []
    for length in map(int, line.split()):
        field = b""
        while len(field) < length: field += os.read(238, length - len(field))
        fields.append(field.decode())
    return fields
def ask(name, arguments, id=1):
    write(frame("call", id, name, arguments))
    return read_frame()
`;

for (const kind of ['local', 'bubblewrap', 'docker']) {
  await describeBackend(kind, (engine) => {
    describeNeeding(shownBy(engine.backend, 'python3'), 'hostile scripts', () => {
      const code = useCode(engine);
      // Whatever it did, the session goes on.
      afterEach(async () => {
        expect(await code.output('python', 'print(echo_text("fine")["text"])')).toBe('fine\n');
        expect(await code.rig.output('echo fine')).toBe('fine\n');
      });
      describe('a script that writes garbage to the host', () => garbageTests(code));
      describe('a script that calls tools with hostile arguments', () => argumentTests(code));
      describe('a script that floods the host', () => floodTests(code));
      describe('a script that breaks its channel to the host', () => brokenTests(code, engine));
    });
  });
}

function garbageTests(code: CodeRig): void {
  it.each([
    ['words', 'write(b"hello host\\n")'],
    ['nothing but newlines', 'write(b"\\n" * 1000)'],
    ['a line that never ends', 'write(b"1" * 100000)'],
    ['zeros', 'write(bytes(100000))'],
    ['every byte there is', 'write(bytes(range(256)) * 100)'],
    ['a length that is too large', 'write(b"4 9 99999999\\ncall")'],
    ['a length that is no number', 'write(b"4 1e3 -5\\ncall")'],
    ['lengths that are too large together', 'write(b" ".join([b"900000"] * 100) + b"\\n")'],
    ['a message of a kind that does not exist', 'write(frame("exit", 1, "echo_text", "{}"))'],
    ['a message with nothing in it', 'write(frame(""))'],
    ['a call with too little in it', 'write(frame("call", 1))'],
    ['a call with an id that is none', 'write(frame("call", "__proto__", "echo_text", "{}"))'],
    ['a call with a very long id', 'write(frame("call", "1" * 1000, "echo_text", "{}"))'],
  ])('ends a script that sends %s', async (_, attack) => {
    const result = await code.run('python', `${raw}print("before")\n${attack}\ntime.sleep(100)`);
    expect(result).toMatchObject({ status: 'error', exit_code: null, output: 'before\n', tool_calls: 0 });
    expect(result.error).toMatch(/^The script was ended: it wrote /);
    expect(result.duration_ms).toBeLessThan(50_000);
  });

  it('waits for an incomplete message until the timeout', async () => {
    const result = await code.run('python', `${raw}write(b"4 1 9 1000000\\ncall1echo_text{")\ntime.sleep(100)`, { timeout: 1 });
    expect(result).toMatchObject({ status: 'timeout', tool_calls: 0 });
  });
}

function argumentTests(code: CodeRig): void {
  it.each([
    [
      'a tool that does not exist',
      'ask("no_such_tool", "{}")',
      /^unknown-tool There is no tool called "no_such_tool" for scripts\. There are: command, echo_text\.$/,
    ],
    ['a tool that is not for scripts', 'ask("hidden", "{}")', /^unknown-tool/],
    ['this tool itself', `ask("execute_code", '{"language":"bash","code":"touch nested"}')`, /^unknown-tool/],
    ['a name every object has', 'ask("__proto__", "{}")', /^unknown-tool/],
    ['a name that is very long', 'ask("x" * 1000000, "{}")', /^unknown-tool .{0,300}$/],
    ['a name that is no text', 'ask(b"\\xff\\xfe", "{}")', /^unknown-tool/],
    ['arguments that are no JSON', 'ask("echo_text", "{text: 1")', /^bad-input The arguments of echo_text cannot be read/],
    ['arguments that are no text', `ask("echo_text", b'{"text":"\\xff"}')`, /^bad-input/],
    ['arguments that are no object', 'ask("echo_text", "[1]")', /^bad-input/],
    ['no arguments', 'ask("echo_text", "null")', /^bad-input/],
    ['arguments nobody asked for', `ask("echo_text", '{"text":"a","admin":true}')`, /^bad-input/],
    ['arguments nested very deep', 'ask("echo_text", \'{"text":"a","parts":\' + "[" * 1000000 + "]" * 1000000 + "}")', /^bad-input/],
    ['a number too large for anybody', `ask("echo_text", '{"text":"a","times":1e400}')`, /^bad-input/],
    ['more than the host can hold', `ask("echo_text", '{"text":"aaaa","times":1000000000}')`, /^failed/],
    ['more than an answer can hold', `ask("echo_text", '{"text":"aaaa","times":10000000}')`, /^failed The answer is longer/],
  ])('returns an error for a hostile call: %s', async (_, attack, answer) => {
    const result = await code.run('python', `${raw}print(*${attack}[1:])`);
    expect(result).toMatchObject({ status: 'success', tool_calls: 1 });
    expect(result.output.trimEnd()).toMatch(answer);
  });

  it('pollutes no prototype with the arguments of a call', async () => {
    const attack = `ask("echo_text", '{"text":"a","__proto__":{"loud":true},"parts":[{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}]}')`;
    expect(await code.output('python', `${raw}print(${attack}[2])`)).toBe(
      '{"text":"a","parts":[{"constructor":{"prototype":{"polluted":1}}}]}\n',
    );
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it('answers each of several calls with the same id', async () => {
    const script = `${raw}
write(frame("call", 7, "echo_text", '{"text":"a"}') + frame("call", 7, "echo_text", '{"text":"b"}'))
print(sorted(read_frame()[2] for _ in range(2)))`;
    expect(await code.output('python', script)).toBe(`['{"text":"a","parts":[]}', '{"text":"b","parts":[]}']\n`);
  });
}

function floodTests(code: CodeRig): void {
  it('ends a script that keeps calling beyond its limit', async () => {
    const script = `${raw}
while True: ask("echo_text", '{"text":"a"}')`;
    const result = await code.run('python', script);
    expect(result).toMatchObject({ status: 'error', tool_calls: 50, error: expect.stringContaining('went on calling tools') });
  });

  it('ends a script that calls without end and reads no answer', async () => {
    const script = `${raw}
while True: write(frame("call", 1, "echo_text", '{"text":"a"}') * 1000)`;
    const result = await code.run('python', script);
    expect(result).toMatchObject({ status: 'error', tool_calls: 50, error: expect.stringContaining('went on calling tools') });
  });

  it('ends a script that does not read large answers', async () => {
    const script = `${raw}
for n in range(50): write(frame("call", n, "echo_text", '{"text":"aaaa","times":1900000}'))
time.sleep(100)`;
    const result = await code.run('python', script);
    expect(result).toMatchObject({ status: 'error', error: expect.stringContaining('without reading the answers') });
  });

  it('ends a script that asks for more at once than can be kept', async () => {
    const script = `${raw}
text = "x" * 7000000
for n in range(50): write(frame("call", n, "command", '{"command":"sleep 100","stdin":"%s"}' % text))
time.sleep(100)`;
    const result = await code.run('python', script);
    expect(result).toMatchObject({ status: 'error', error: expect.stringContaining('more at once than can be kept') });
  });

  it('bounds host memory while a script prints 100 MB', async () => {
    const before = process.memoryUsage.rss();
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss());
    }, 20);
    const script = 'import sys\nfor n in range(100): sys.stdout.write(("x" * 99 + "\\n") * 10000)\nprint(echo_text("end")["text"])';
    const result = await code.run('python', script);
    clearInterval(watch);
    expect(result).toMatchObject({ status: 'success', truncated: true, output: expect.stringMatching(/end\n$/) });
    expect(result.output.length).toBeLessThan(30_000);
    expect(most - before).toBeLessThan(96 * 1024 * 1024);
    await code.rig.output(`rm -f '${result.output_file}'`);
  });
}

function brokenTests(code: CodeRig, engine: TestEngine): void {
  it('fails the calls of a script that closed its answers', async () => {
    const script = 'import os\nos.close(238)\ntry:\n    echo_text("a")\nexcept OSError: print("closed")';
    expect(await code.output('python', script)).toBe('closed\n');
  });

  it('fails the calls of a script that closed its requests', async () => {
    const script = 'import os\nos.close(239)\ntry:\n    echo_text("a")\nexcept OSError: print("closed")';
    expect(await code.output('python', script)).toBe('closed\n');
  });

  it('ends a script that closed all its descriptors at the timeout', async () => {
    const script = 'import os, time\nos.closerange(0, 1024)\ntime.sleep(100)';
    expect(await code.run('python', script, { timeout: 1 })).toMatchObject({ status: 'timeout', output: '' });
  });

  it('kills a child that outlives its script and writes to the host', async () => {
    const script = `
import os, sys, time
for descriptor in (238, 239): os.set_inheritable(descriptor, True)
if os.fork() == 0:
    os.setsid()
    os.execvp("bash", ["bash", "-c", "while :; do echo noise >&239; echo more; sleep 0.01; done"])
print("done")
os._exit(0)`;
    const result = await code.run('python', script);
    expect(result.duration_ms).toBeLessThan(50_000);
    expect(await code.rig.output('for f in /proc/[0-9]*/cmdline; do tr "\\0" " " <"$f"; echo; done 2>/dev/null')).not.toContain(
      'noise >&239',
    );
  });

  it('ends a script that stopped itself at the timeout', async () => {
    const script = 'import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)';
    expect(await code.run('python', script, { timeout: 1 })).toMatchObject({ status: 'timeout' });
  });

  it('reports a script that kills itself in the middle of a call', async () => {
    const script = `
import os, signal, threading, time
def kill():
    while not os.path.exists("called"): time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=kill).start()
command("touch called; sleep 100")`;
    const result = await code.run('python', script);
    expect(result).toMatchObject({ status: 'error', exit_code: 137, tool_calls: 1 });
    expect(result.duration_ms).toBeLessThan(50_000);
  });

  it('bounds the message of a script that claims a missing interpreter', async () => {
    const result = await code.call('python', `${raw}write(frame("missing", "x" * 100000))`);
    expect(result).toMatchObject({ ok: false, failure: 'failed' });
    expect(result.text.length).toBeLessThan(2000);
  });

  it.each([
    ['bash', 'echo before; echo garbage >&239; sleep 100', /^The script was ended: it wrote/],
    ['bash', 'echo before; exec 238<&- ; echo_text x; exit 3', /code 3/],
    ['bash', 'echo before; kill -9 $$', /SIGKILL|137/],
    [
      'javascript',
      `console.log('before'); require('node:fs').writeSync(239, 'garbage\\n'); await command('sleep 100');`,
      /^The script was ended: it wrote/,
    ],
    ['javascript', `console.log('before'); process.kill(process.pid, 'SIGKILL'); await command('sleep 100');`, /SIGKILL|137/],
    ['javascript', `console.log('before'); void command('sleep 100'); process.exit(3);`, /code 3/],
  ] as const)('reports a hostile script in %s: %s', async (language, script, error) => {
    if (language === 'javascript' && !(await code.rig.succeeds('command -v node'))) return;
    const result = await code.run(language, script);
    expect(result).toMatchObject({ status: 'error', error: expect.stringMatching(error) });
    expect(result.output).toMatch(/^before\n/);
    expect(result.duration_ms).toBeLessThan(50_000);
  });

  // Never where it would be the host that has to bear it.
  it.runIf(engine.backend.traits.disposable)('ends a script that forks without end at the timeout', async () => {
    const script = 'import os, time\nwhile True:\n    try:\n        os.fork()\n    except OSError: time.sleep(0.01)';
    expect(await code.run('python', script, { timeout: 1 })).toMatchObject({ status: 'timeout' });
  });
}
