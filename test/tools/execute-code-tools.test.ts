import { expect, it } from 'vitest';
import { executeCode } from '../../src/tools/execute-code/execute-code.ts';
import { editFile } from '../../src/tools/files/edit-file.ts';
import { readFile } from '../../src/tools/files/read-file.ts';
import { searchFiles } from '../../src/tools/files/search-files.ts';
import { writeFile } from '../../src/tools/files/write-file.ts';
import { ProcessTable } from '../../src/tools/process/process-table.ts';
import { terminal } from '../../src/tools/terminal.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { itNeeding, shownBy } from '../needs.ts';
import { secret, useToolRig } from './tool-rig.ts';

for (const kind of ['local', 'bubblewrap', 'docker']) await describeBackend(kind, toolTests);

function toolTests(engine: TestEngine): void {
  const python = shownBy(engine.backend, 'python3');
  const rig = useToolRig(engine, (sandbox) => {
    const tools = [
      terminal({ timeoutSeconds: 60, maxTimeoutSeconds: 60, processes: new ProcessTable(sandbox) }),
      readFile,
      writeFile,
      editFile,
      searchFiles,
    ];
    return [...tools, executeCode({ timeoutSeconds: 60, maxToolCalls: 50, mode: 'project', tools })];
  });
  const output = async (language: string, code: string): Promise<string> => {
    const { status, output } = await rig.data<{ status: string; output: string }>('execute_code', { language, code });
    expect({ status, output }).toMatchObject({ status: 'success' });
    return output;
  };

  itNeeding(python, 'lets a Python script use the tools', async () => {
    const script = `
from hermetic_tools import write_file, read_file, edit_file, search_files, terminal
print(write_file("notes/a.txt", "one\\ntwo\\n")["created"])
edit_file("notes/a.txt", [{"old_text": "two", "new_text": "three ü"}])
print(read_file("notes/a.txt")["content"], end="")
print("a.txt" in str(search_files("three")))
print(terminal("cd notes; cat a.txt | wc -l", timeout=5)["output"].strip())
print(terminal("pwd; exit 3")["exit_code"], terminal("pwd")["output"].endswith("/notes\\n"))
try:
    read_file("missing.txt")
except ToolError as error:
    print("ToolError" in repr(error))`;
    expect(await output('python', script)).toBe('True\none\nthree ü\nTrue\n2\n3 True\nTrue\n');
    expect(rig.sandbox.cwd).toMatch(/\/notes$/);
    expect(rig.asked.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['script', 'write', 'read', 'command']));
  });

  it('lets a bash script use the tools', async () => {
    const script = `
printf 'one\\ntwo\\n' | write_file b.txt
edit_file b.txt '[{"old_text": "two", "new_text": "three"}]' >/dev/null
read_file b.txt --offset 2
terminal 'echo $((6 * 7))'
read_file missing.txt 2>/dev/null || echo failed`;
    expect(await output('bash', script)).toMatch(/b\.txt[\s\S]*three[\s\S]*42\nfailed\n$/);
  });

  itNeeding(python, 'passes file content unredacted to a script, and redacts what the script prints', async () => {
    await rig.data('terminal', { command: `printf %s '${secret}' >secret.txt` });
    const script = 'content = read_file("secret.txt")["content"]\nprint(content == open("secret.txt").read(), content)';
    const result = await rig.call('execute_code', { language: 'python', code: script });
    expect(result).toMatchObject({ ok: true, text: expect.stringMatching(/^True /) });
    expect(JSON.stringify(result)).not.toContain(secret);
  });
}
