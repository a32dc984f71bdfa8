import { describe, expect, it } from 'vitest';
import type { ScriptLanguage } from '../../src/core/approval.ts';
import type { TestEngine } from '../engines.ts';
import { withEnoughTime } from '../until.ts';
import { useCode } from './code-rig.ts';

/** A Python that is not what it seems: it behaves like version 3.6 as far as anybody asks. */
const oldPython = `#!/bin/bash
exec python3 -c 'import sys
sys.version_info = (3, 6)
sys.executable = "/old/python"
source = sys.argv[2]
sys.argv = ["-c"] + sys.argv[3:]
exec(source)' "$@"
`;

const withoutPath = 'saved_path=$PATH; export saved_path; mkdir -p nothing; PATH=$PWD/nothing';
const withPath = 'PATH=$saved_path; unset saved_path';

export function environmentTests(engine: TestEngine): void {
  const code = useCode(engine, { env: { FORWARDED_API_KEY: 'a secret', PLAIN: 'kept', 'strange-token': 'a secret' } });
  const languages = async (): Promise<ScriptLanguage[]> =>
    (await code.rig.succeeds('command -v node')) ? ['python', 'javascript', 'bash'] : ['python', 'bash'];

  it('hides variables that look like credentials from a script', async () => {
    await code.rig.output(
      `export MY_TOKEN='a secret' db_password='a secret' SSH_AUTH_SOCK='a secret' VISIBLE=1; declare -rx FIXED_SECRET='a secret'`,
    );
    expect(await code.rig.output('env')).toContain('a secret');
    const dump: Record<ScriptLanguage, string> = {
      python: 'import os; print(os.environ); print(open("/proc/self/environ").read())',
      javascript: 'console.log(process.env); console.log(require("node:fs").readFileSync("/proc/self/environ", "utf8"));',
      bash: `export -p; tr '\\0' '\\n' </proc/$$/environ; env`,
    };
    for (const language of await languages()) {
      const output = await code.output(language, dump[language], { maxBytes: 1_000_000 });
      expect(output).not.toContain('a secret');
      expect(output).not.toMatch(/MY_TOKEN|db_password|SSH_AUTH|FIXED_SECRET|FORWARDED|strange/);
      for (const name of ['PATH', 'HOME', 'VISIBLE', 'PLAIN']) expect(output).toMatch(new RegExp(`\\b${name}\\b`));
    }
    expect(await code.output('python', 'print(command("echo $MY_TOKEN")["output"])')).toBe('a secret\n\n');
  });

  it('uses the Python of the project, except in strict mode', async () => {
    const marked = '#!/bin/bash\nexport MARKED="$0"\nexec python3 "$@"\n';
    await code.rig.output(
      `mkdir -p venv/bin; cat >venv/bin/python <<'END'\n${marked}END\nchmod +x venv/bin/python; export VIRTUAL_ENV=$PWD/venv`,
    );
    const script = 'import os; print(os.environ.get("MARKED"))';
    expect(await code.output('python', script)).toBe(`${code.rig.workdir}/venv/bin/python\n`);
    expect(await code.output('python', script, { settings: { mode: 'strict' } })).toBe('None\n');
    await code.rig.output('unset VIRTUAL_ENV');
  });

  it('skips a Python that is too old, and names it when there is no other', async () => {
    await code.rig.output(
      `mkdir -p old/bin; cat >old/bin/python <<'END'\n${oldPython}END\nchmod +x old/bin/python; export CONDA_PREFIX=$PWD/old`,
    );
    expect(await code.output('python', 'import sys; print(sys.version_info >= (3, 8))')).toBe('True\n');
    await code.rig.output(
      `cd old/bin; ln -sf "$(type -P env)" "$(type -P bash)" .; sed -i "s|exec python3|exec $(python3 -c 'import sys; print(sys.executable)')|" python; cd ../..`,
    );
    await code.rig.output('export saved_path=$PATH; PATH=$PWD/old/bin');
    const result = await code.call('python', 'print(1)');
    await code.rig.output(`${withPath}; unset CONDA_PREFIX`);
    const text = expect.stringMatching(/no Python 3\.8 or newer in this sandbox \(\/old\/python is Python 3\.6\)/);
    expect(result).toMatchObject({ ok: false, failure: 'failed', text });
  });

  it('names the missing interpreter', async () => {
    await code.rig.output(withoutPath);
    const results = [await code.call('python', 'print(1)'), await code.call('javascript', 'console.log(1)')];
    await code.rig.output(withPath);
    expect(results).toMatchObject([
      { ok: false, failure: 'failed', text: expect.stringMatching(/no Python 3\.8 or newer.*was not run.*apt-get install python3/) },
      { ok: false, failure: 'failed', text: expect.stringMatching(/no Node\.js 18 or newer.*was not run.*apt-get install nodejs/) },
    ]);
  });

  describe('strict mode', () => {
    const strict = { settings: { mode: 'strict' } } as const;

    it('runs a strict script in an empty directory of its own, which is removed afterwards', async () => {
      const script =
        'import os\nprint(os.getcwd(), os.listdir())\nopen("left", "w").close()\nos.mkdir("locked", 0)\nprint(oct(os.stat(".").st_mode))';
      const output = await code.output('python', script, strict);
      const [, directory = ''] = /^(\/\S+) \[\]\n0o40700\n$/.exec(output) ?? [];
      expect(directory).toContain('hermetic-code-');
      expect(await code.rig.succeeds(`[[ -e ${directory} ]]`)).toBe(false);
    });

    it('removes the directory of a strict script that is killed', async () => {
      const { status, output } = await withEnoughTime(
        (timeout) => code.run('bash', `pwd; : >${code.rig.workdir}/begun; sleep 100`, { ...strict, timeout }),
        () => code.rig.succeeds(`rm ${code.rig.workdir}/begun`),
      );
      expect(status).toBe('timeout');
      expect(output).toContain('hermetic-code-');
      expect(await code.rig.succeeds(`[[ -e ${output.trim()} ]]`)).toBe(false);
    });

    it('keeps the directory of the session for the tools of a strict script', async () => {
      expect(await code.output('python', 'print(command("pwd")["output"], end="")', strict)).toBe(`${code.rig.sandbox.cwd}\n`);
    });
  });
}
