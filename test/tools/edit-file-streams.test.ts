import { expect, it } from 'vitest';
import { describeBackend } from '../engines.ts';
import { startRelay } from '../relay.ts';
import { useFileTools } from './file-toolbox.ts';

/** The same engine by a port, so that every shell is reached by its streams. */
const relay = await startRelay('/var/run/docker.sock');

const large = 'a long line of text\n'.repeat(20_000);

await describeBackend(
  'docker',
  (engine) => {
    const tools = useFileTools(engine);

    it.each([
      ['small', ''],
      ['large', large],
    ])('writes, edits, reads and searches a file by streams alone: %s', async (name, more) => {
      await tools.data('write_file', { path: `dir/${name}`, content: `first ü\n${more}` });
      await tools.data('edit_file', { path: `dir/${name}`, edits: [{ old_text: 'first ü', new_text: 'changed ü' }] });
      expect(await tools.data('read_file', { path: `dir/${name}`, limit: 1 })).toMatchObject({ content: 'changed ü\n' });
      expect(await tools.data('search_files', { pattern: 'changed .$', path: `dir/${name}` })).toMatchObject({ count: 1 });
      expect((await tools.sandbox.readFile(`dir/${name}`)).toString()).toBe(`changed ü\n${more}`);
    });
  },
  { title: 'docker by streams', docker: { docker_host: relay.host }, maxBytesAhead: 32 * 1024 * 1024 },
);
