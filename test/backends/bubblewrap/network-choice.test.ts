import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { findProgram } from '../../../src/backends/programs.ts';
import { describeNeeding, itNeeding } from '../../needs.ts';
import { describeBubblewrap } from './open.ts';

const directory = mkdtempSync(join(tmpdir(), 'hermetic-choice-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** A product on a machine without any network, where these programs are missing. */
async function ask(...missing: string[]): Promise<Answers> {
  const hidden = missing.map((program) => `mount --bind /dev/null ${findProgram(program) ?? '/dev/null'};`).join(' ');
  const wrapper = ['--net', '--mount', '--', 'sh', '-c', `${hidden} exec "$@"`, 'sh'];
  const node = [process.execPath, '--input-type=module', '-e', product, mkdtempSync(join(directory, 'sandboxes-'))];
  const { stdout } = await promisify(execFile)('unshare', [...wrapper, ...node]);
  return JSON.parse(stdout) as Answers;
}

interface Answers {
  honours: unknown;
  canRestrict: unknown;
  notes: string[];
  /** What people in a chat are told, of the two openings of the same sandbox with no wish for its network. */
  notices: string[][];
  interfaces: string[];
  refused: string;
}

const product = `
  import { join } from 'node:path';
  import { bubblewrap } from ${JSON.stringify(`file://${join(import.meta.dirname, '../../../src/backends/bubblewrap/index.ts')}`)};
  import { EgressThread } from ${JSON.stringify(`file://${join(import.meta.dirname, '../../../src/egress/thread.ts')}`)};
  const sandboxesDirectory = process.argv[1];
  const egress = new EgressThread(() => ({ allow: [], deny: [], private: [], directPorts: [], notesAllowed: false }));
  const backend = bubblewrap.create({ installation: 'abcdef', sandboxesDirectory, environment: {}, egress }, {});
  const spec = (name, network) => ({
    name, network, session: name, directory: join(sandboxesDirectory, 'bubblewrap', name), image: undefined, workdir: undefined, env: {}, mounts: [],
    limits: { cpus: 0, memoryMb: 0, diskMb: 0, pids: 0 }, persistent: true, user: 'default', idleSeconds: 60, backgroundSeconds: 0,
  });
  const [canRestrict, { notes }] = await Promise.all([backend.canRestrict(), backend.check()]);
  const answers = { honours: backend.traits.honours['network-open'], canRestrict, notes, notices: [] };
  for (const time of [1, 2]) {
    const notices = [];
    const sandbox = await backend.open(spec('undecided'), { notice: (_, inChat) => notices.push(inChat), progress: () => undefined });
    const { output } = await sandbox.exec({ command: 'tail -n +3 /proc/net/dev' });
    const chunks = [];
    for await (const { data } of output) chunks.push(data);
    answers.interfaces = Buffer.concat(chunks).toString().match(/\\w+(?=:)/g);
    await sandbox.close();
    answers.notices.push(notices);
  }
  const opened = await backend.open(spec('decided', 'open'), { notice: () => undefined, progress: () => undefined }).catch((error) => error);
  answers.refused = opened instanceof Error ? opened.message : 'no';
  await opened.destroy?.();
  console.log(JSON.stringify(answers));
`;

describeBubblewrap('the choice of a network for a bubblewrap sandbox', () => {
  describeNeeding(['root'], 'a host without a network', () => {
    it('opens sandboxes without a network where slirp4netns is missing, and says so once', async () => {
      const line = expect.stringContaining('apt-get install slirp4netns');
      expect(await ask('slirp4netns')).toEqual({
        honours: line,
        canRestrict: true,
        notes: [line, 'Their network can be restricted to chosen hosts.'],
        notices: [[line], []],
        interfaces: ['lo'],
        refused: line,
      });
    });

    it('says what to install where nsenter is missing, and restricts no network', async () => {
      const line = expect.stringContaining('apt-get install util-linux');
      expect(await ask('nsenter')).toMatchObject({ canRestrict: line, notes: [expect.anything(), line] });
    });

    itNeeding(['open-network'], 'opens sandboxes with a network where slirp4netns is installed', async () => {
      expect(await ask()).toEqual({
        honours: true,
        canRestrict: true,
        notes: [expect.stringContaining('through slirp4netns'), 'Their network can be restricted to chosen hosts.'],
        notices: [[], []],
        interfaces: ['lo', 'tap0'],
        refused: 'no',
      });
    });
  });
});
