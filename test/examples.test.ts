import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { describeBackend } from './engines.ts';

const directory = join(import.meta.dirname, '../examples');
const run = promisify(execFile);

await describeBackend('bubblewrap', () => {
  const home = mkdtempSync(join(tmpdir(), 'hermetic-example-'));
  afterAll(() => rm(home, { recursive: true, force: true }));
  const example = async (name: string): Promise<string> => {
    const env = { PATH: process.env.PATH, HOME: home, TERMINAL_ENV: 'bubblewrap' };
    return (await run(process.execPath, ['--conditions=hermetic-source', join(directory, name)], { env, cwd: home })).stdout;
  };

  it('an agent of your own uses the tools, and a program the same session without a model', async () => {
    const printed = await example('own-agent.ts');
    expect(printed).toMatch(/^7 tools: terminal, process, read_file, /);
    expect(printed).toContain('terminal says: /workspace/notes\n');
    expect(printed).toContain('+changed line');
    expect(printed).toMatch(/execute_code says: 1 log\.txt\n[\s\S]*changed line/);
    expect(printed).toMatch(/terminal refuses: .*command/);
    expect(printed).toMatch(/\n\/workspace\/notes\nchanged line\n$/);
    expect(readdirSync(join(home, '.hermetic/sandboxes/bubblewrap'))).toEqual([]);
  });

  it('every example is run here', () => {
    expect(readdirSync(directory)).toEqual(['own-agent.ts']);
  });
});
