import { expect, it } from 'vitest';
import type { Sandbox } from '../../src/core/sandbox.ts';
import { unredacted } from '../../src/lib/redact.ts';
import { editFile } from '../../src/tools/files/edit-file.ts';
import { readFile } from '../../src/tools/files/read-file.ts';
import { searchFiles } from '../../src/tools/files/search-files.ts';
import { writeFile } from '../../src/tools/files/write-file.ts';
import { Toolbox } from '../../src/tools/toolbox.ts';
import { useRig } from '../contracts/sandbox/rig.ts';
import { describeBackend } from '../engines.ts';
import { kinds, maxBytes } from './file-toolbox.ts';

const inputs = {
  read_file: { path: 'file' },
  write_file: { path: 'file', content: 'new' },
  edit_file: { path: 'file', edits: [{ old_text: 'a', new_text: 'b' }] },
  search_files: { pattern: 'x' },
};
const cases = Object.entries(inputs).flatMap(([name, input]) =>
  [
    'exec head -c 300000000 /dev/zero',
    'printf "text 3\\n"; exec head -c 300000000 /dev/zero',
    'printf "large 9\\n"; exec head -c 300000000 /dev/zero',
    'printf "huge 999999999999999999\\n"',
    'printf "more\\nmore\\nmore\\n"; cat >/dev/null',
    'printf "nonsense\\n"',
    'printf "missing -5\\n"',
    'printf "directory\\nno letters\\0\\0\\0"',
    'exec head -c 300000000 /dev/zero >&2',
    'exit 77',
    'kill -9 $$',
    ':',
  ].map((command): [string, object, string] => [name, input, command]),
);

for (const kind of kinds) {
  await describeBackend(kind, (engine) => {
    const rig = useRig(engine);

    it.each(cases)('fails %s %j when the sandbox answers with %s', async (name, input, command) => {
      // Only what runs inside is another: whatever it prints comes by the same way.
      const exec: Sandbox['exec'] = (request) => rig.sandbox.exec({ ...request, command });
      const sandbox: Sandbox = new Proxy(rig.sandbox, {
        get: (target, key) => (key === 'exec' ? exec : Reflect.get(target, key, target)),
      });
      const tools = [readFile, writeFile, editFile, searchFiles];
      const guard = async () => ({ allowed: true }) as const;
      const before = process.memoryUsage.rss();
      const result = await new Toolbox({ tools, sandbox, guard, redact: unredacted, maxBytes }).call(name, input);
      expect(result).toMatchObject({ ok: false, failure: 'failed' });
      expect(result.text.length).toBeLessThan(2000);
      expect(process.memoryUsage.rss() - before).toBeLessThan(96 * 1024 * 1024);
    });
  });
}
