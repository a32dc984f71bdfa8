import { expect, it } from 'vitest';
import { type SentFile, sendFile } from '../../src/tools/files/send-file.ts';
import { collect } from '../contracts/sandbox/rig.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { useToolRig } from './tool-rig.ts';

function sendTests(engine: TestEngine): void {
  const sent: SentFile[] = [];
  let limit = 64 * 1024 * 1024;
  const rig = useToolRig(engine, () => [
    sendFile(
      async (file) => void sent.push(file),
      () => limit,
    ),
  ]);
  const inside = async (command: string) => (await collect(await rig.sandbox.exec({ command }))).stdout;

  it('sends the bytes of a file unchanged', async () => {
    await inside('head -c 100000 /dev/urandom >random.bin; sha256sum random.bin');
    const bytes = await rig.sandbox.readFile('random.bin');
    expect(await rig.data('send_file', { path: 'random.bin', caption: 'here' })).toEqual({
      name: 'random.bin',
      bytes: 100_000,
      waiting: false,
    });
    expect(sent.pop()).toEqual({ name: 'random.bin', data: bytes, caption: 'here' });
    expect(rig.asked.at(-1)).toEqual({ kind: 'send', path: 'random.bin', cwd: rig.sandbox.cwd });
  });

  it('reduces the name of a sent file to a harmless last part', async () => {
    await inside(`mkdir -p deep; echo x >'deep/-rf'; echo x >$'line\\nbreak'`);
    await rig.data('send_file', { path: 'deep/-rf', name: '../../etc/passwd' });
    await rig.data('send_file', { path: 'line\nbreak' });
    await rig.data('send_file', { path: 'deep/../deep/-rf', name: '..' });
    expect(sent.splice(0).map(({ name }) => name)).toEqual(['passwd', 'line_break', 'file']);
  });

  it.each([
    ['nothing-there', /no file/],
    ['/tmp', /not a file/],
    ['/dev/zero', /not a file/],
  ])('explains why %s is not sent', async (path, words) => {
    expect(await rig.call('send_file', { path })).toMatchObject({ ok: false, text: expect.stringMatching(words) });
    expect(sent).toEqual([]);
  });

  it('refuses to send a file that is too large', async () => {
    await inside('truncate -s 1G large');
    expect(await rig.call('send_file', { path: 'large' })).toMatchObject({ ok: false, text: expect.stringContaining('20 MiB') });
  });

  it.each([
    [10 * 1024 * 1024, 'it is larger than 10 MiB, the most this chat takes'],
    [500, 'it is larger than 500 bytes'],
    [0, 'this chat takes no files'],
  ])('refuses to send a file that is larger than the %i bytes that the chat takes, and sends nothing', async (bytes, words) => {
    limit = bytes;
    await inside('truncate -s 10485761 larger');
    expect(await rig.call('send_file', { path: 'larger' })).toMatchObject({ ok: false, text: expect.stringContaining(words) });
    expect(sent).toEqual([]);
  });
}

for (const kind of ['local', 'bubblewrap', 'docker']) await describeBackend(kind, sendTests);
