import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { afterAll, expect, it } from 'vitest';
import { Hermetic } from '../../cli/hermetic.ts';
import { describeBackend } from '../../engines.ts';

/** A wheel is an archive of a few files; this one needs nothing to be built. */
const makeWheel = `
import zipfile
info = 'sample_tool-1.0.dist-info'
files = {
    'sample_tool.py': 'def main():\\n    print("sample from pip")\\n',
    f'{info}/METADATA': 'Metadata-Version: 2.1\\nName: sample-tool\\nVersion: 1.0\\n',
    f'{info}/WHEEL': 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
    f'{info}/entry_points.txt': '[console_scripts]\\nsample-pip = sample_tool:main\\n',
}
with zipfile.ZipFile('sample_tool-1.0-py3-none-any.whl', 'w') as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
    wheel.writestr(f'{info}/RECORD', ''.join(f'{name},,\\n' for name in files))
`;

const makePackage = `
mkdir -p package
printf '{"name":"sample-npm","version":"1.0.0","bin":{"sample-npm":"main.js"}}' >package/package.json
printf '#!/usr/bin/env node\\nconsole.log("sample from npm")\\n' >package/main.js
tar czf sample-npm.tgz package`;

const hasPip = ['/usr/bin/pip3', '/usr/local/bin/pip3'].some((path) => existsSync(path));
const hasNpm = ['/usr/bin/npm', '/usr/local/bin/npm'].some((path) => existsSync(path));

await describeBackend('bubblewrap', () => {
  const hermetic = new Hermetic({ TERMINAL_ENV: 'bubblewrap', TERMINAL_NETWORK: 'none' });
  afterAll(() => rm(hermetic.home, { recursive: true, force: true }));
  const run = (command: string, session: string) => hermetic.run(['run', '--session', session, '--', command]);

  it.skipIf(!hasPip)(
    'keeps packages installed by pip for the session (skipped without pip in /usr)',
    async () => {
      const installed = await run(`python3 - <<'EOF' && pip3 install --no-index ./*.whl\n${makeWheel}\nEOF`, 'pip');
      expect(installed.code, installed.stderr).toBe(0);
      expect(await run('sample-pip; python3 -c "import sample_tool; print(sample_tool.__file__)"', 'pip')).toMatchObject({
        stdout: expect.stringMatching(/^sample from pip\n\/home\/agent\/\.local\/lib\/python3/),
      });
      expect((await run('command -v sample-pip || echo none', 'another')).stdout).toBe('none\n');
    },
    120_000,
  );

  it.skipIf(!hasPip)(
    'runs pip in a virtual environment',
    async () => {
      const made = await run(
        'python3 -m venv --without-pip --system-site-packages v && . v/bin/activate && python3 -m pip --version',
        'venv',
      );
      expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('pip ') });
    },
    120_000,
  );

  it.skipIf(!hasNpm)(
    'keeps packages installed globally by npm for the session (skipped without npm in /usr)',
    async () => {
      const installed = await run(`${makePackage}\nnpm install -g --offline --no-audit --no-fund ./sample-npm.tgz`, 'npm');
      expect(installed.code, installed.stderr).toBe(0);
      expect(await run('sample-npm; command -v sample-npm', 'npm')).toMatchObject({
        stdout: 'sample from npm\n/home/agent/.local/bin/sample-npm\n',
      });
      expect((await run('command -v sample-npm || echo none', 'another')).stdout).toBe('none\n');
    },
    120_000,
  );

  it('prefers programs of the system over programs that the session installed', async () => {
    const plant = 'mkdir -p ~/.local/bin && printf "#!/bin/sh\necho planted\n" >~/.local/bin/cat && chmod +x ~/.local/bin/cat';
    expect(await run(`${plant}; ~/.local/bin/cat; command -v cat`, 'planted')).toMatchObject({ stdout: 'planted\n/usr/bin/cat\n' });
  }, 60_000);
});
