import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { contextIn } from '../backends.ts';
import { describeBackend } from '../engines.ts';
import { Rig } from './rig.ts';

/** Every way in which a process inside could try to change or replace the file. */
const attack = `
cd /received
echo changed > notes.txt; echo changed >> notes.txt; truncate -s 0 notes.txt
chmod 777 . notes.txt; chmod +w notes.txt && echo changed > notes.txt
rm -f notes.txt; rm -rf /received/*; mv notes.txt other.txt
ln -sf /etc/passwd notes.txt; ln -s /etc link; mkdir new; touch new.txt; cp /bin/true .
mount -o remount,rw /received; umount /received; mv /received /gone; rmdir /received
true`;

async function describeReadOnly(kind: string, environment: Record<string, string>): Promise<void> {
  await describeBackend(kind, () => {
    let rig: Rig;
    beforeAll(async () => {
      rig = await Rig.start({ environment: { TERMINAL_ENV: kind, ...environment } });
    }, 120_000);
    afterAll(async () => {
      for (const left of (await rig.app.backends.get(kind)?.list()) ?? []) await left.destroy();
      await rig.close();
    });
    const onHost = () => globSync(join(rig.home, '.hermetic', 'sandboxes', kind, '*', 'received', '*'));

    it('shows received files inside, and no command can change, replace or remove them', async () => {
      await rig.say('/run cat /received/notes.txt', { files: [rig.file('notes.txt', 'some notes\n')] });
      expect(await rig.shows('some notes', 'ada', 60_000)).toContain('/received/notes.txt');
      await rig.say(`/run { ${attack}\n} 2>/dev/null; echo end: $(cat /received/notes.txt) $(ls -A /received)`);
      expect(await rig.shows('end:', 'ada', 60_000)).toContain('end: some notes notes.txt\n');
      expect(onHost().map((path) => readFileSync(path, 'utf8'))).toEqual(['some notes\n']);
    }, 120_000);

    it('shows files that arrive while the sandbox runs, and none half-written', async () => {
      await rig.say('/run md5sum < /received/big.bin; ls -A /received | wc -l', {
        files: [rig.file('big.bin', Buffer.alloc(3_000_000, 7))],
      });
      expect(await rig.shows('97ddaa60', 'ada', 60_000)).toMatch(/^2$/m);
      const [directory] = globSync(join(rig.home, '.hermetic', 'sandboxes', kind, '*', 'received'));
      expect(readdirSync(directory ?? '').sort()).toEqual(['big.bin', 'notes.txt']);
      expect(statSync(join(directory ?? '', 'big.bin')).mode & 0o777).toBe(0o444);
    }, 120_000);
  });
}

const { image } = contextIn('/nowhere').docker;
await describeReadOnly('bubblewrap', {});
await describeReadOnly('docker', { TERMINAL_DOCKER_IMAGE: image });

await describeBackend('local', () => {
  it('puts received files into the home on local, protected by their modes only', async () => {
    const rig = await Rig.start({ environment: { TERMINAL_ENV: 'local', HERMETIC_APPROVALS_MODE: 'off' } });
    try {
      await rig.say('/run stat -c %a ~/incoming/notes.txt', { files: [rig.file('notes.txt', 'some notes\n')] });
      await rig.shows('444', 'ada', 60_000);
      expect(existsSync(join(rig.home, 'incoming', 'notes.txt'))).toBe(true);
    } finally {
      await rig.close();
    }
  }, 120_000);
});

await describeBackend('bubblewrap', () => {
  it('refuses a file that does not fit into the sandbox', async () => {
    const rig = await Rig.start({ environment: { TERMINAL_CONTAINER_DISK: '1' } });
    try {
      await rig.say('look', { files: [rig.file('big.bin', Buffer.alloc(2_000_000))] });
      await rig.shows('Fine.', 'ada', 60_000);
      expect(rig.lastPrompt).toContain('big.bin could not be fetched: the sandbox has no room left for it');
      expect(globSync(join(rig.home, '.hermetic', 'sandboxes', '*', '*', 'received', '*'))).toEqual([]);
    } finally {
      await rig.close();
    }
  }, 120_000);
});
