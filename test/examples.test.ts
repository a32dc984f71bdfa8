import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { describeBackend } from './engines.ts';

const root = join(import.meta.dirname, '..');
const directory = join(root, 'examples');
const run = promisify(execFile);

await describeBackend('bubblewrap', () => {
  const home = mkdtempSync(join(tmpdir(), 'hermetic-example-'));
  afterAll(() => rm(home, { recursive: true, force: true }));
  const example = async (name: string): Promise<string> => {
    const env = { PATH: process.env.PATH, HOME: home, TERMINAL_ENV: 'bubblewrap' };
    const [line] = new RegExp(`^node_modules/.* examples/${name}$`, 'm').exec(readFileSync(join(root, 'docs/library.md'), 'utf8')) ?? [''];
    expect(readFileSync(join(directory, name), 'utf8')).toContain(line);
    return (await run('sh', ['-c', line], { env, cwd: root })).stdout;
  };

  it('a custom agent uses the tools, and a program uses the same session without a model', async () => {
    const printed = await example('own-agent.ts');
    expect(printed).toMatch(/^7 tools: terminal, process, read_file, /);
    expect(printed).toContain('terminal says: /workspace/notes\n');
    expect(printed).toContain('+changed line');
    expect(printed).toMatch(/execute_code says: 1 log\.txt\n[\s\S]*changed line/);
    expect(printed).toMatch(/terminal refuses: .*command/);
    expect(printed).toMatch(/\n\/workspace\/notes\nchanged line\n$/);
    expect(readdirSync(join(home, '.hermetic/sandboxes/bubblewrap'))).toEqual([]);
  });

  it('this test runs every example', () => {
    expect(readdirSync(directory)).toEqual(['own-agent.ts']);
  });
});
