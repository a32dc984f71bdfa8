import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pathsIn } from '../../src/backends/sandbox-directory.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';
import { containerTests } from './engine/session-container.ts';

await describeBackend('docker', (engine) => {
  sandboxContract(engine);
  describe('the container of a session', () => containerTests(engine));

  it('keeps the files of a session and leaves no pipes when its container cannot be made', async () => {
    const spec = engine.spec();
    const sandbox = await engine.open(spec);
    await sandbox.writeFile('kept', 'content');
    await sandbox.close();
    const { run } = pathsIn(spec.directory);
    const before = readdirSync(run).sort();
    // A directory cannot be mounted where the image has a file; the engine finds out when it starts the container.
    const broken = { ...spec, mounts: [{ source: spec.directory, target: '/bin/bash', readOnly: true }] };
    await expect(engine.open(broken)).rejects.toThrow('not a directory');
    expect(readdirSync(run).sort()).toEqual(before);
    expect((await (await engine.open(spec)).readFile('kept')).toString()).toBe('content');
  });
});
