import { chownSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pathsIn } from '../../../src/backends/sandbox-directory.ts';
import type { TestEngine } from '../../engines.ts';
import { command, limits, useAttackRig } from './rig.ts';

/** Everything that is awkward to remove. `$1` is a directory of the host. */
const awkwardTree = String.raw`
mkdir tree && cd tree
ln -s "$1" directory; ln -s "$1/canary" file; ln -s / root; ln -s . loop; ln -s /nowhere dangling
mkdir -p closed/inner && echo x >closed/inner/file && chmod 000 closed/inner/file closed/inner closed
touch -- $'new\nline' '-rf' '*' $'\x01\x1b[2J\xff' 'a b'; mkdir -- '--' $'dir\n'; mkfifo pipe
mkdir -p deep/closed && chmod 000 deep/closed
printf -v levels 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/%.0s' {1..50}
for ((part = 0; part < 40; part++)); do mkdir -p "above/$levels" && mv deep "above/$levels" && mv above deep || exit; done`;

/** Directories that become links to the host and back, as fast as possible. `canary` is what a remover would look for in them. */
const flipping = `
cd /workspace
for name in 1 2 3 4; do
  mkdir $name; touch $name/canary $name/other
  (for ((;;)); do mv -T $name $name.aside && ln -s "$1" $name && rm $name && mv -T $name.aside $name; done) 2>/dev/null &
done`;

export function treeAttacks(engine: TestEngine): void {
  const rig = useAttackRig(engine);
  let host = '';
  let canary = '';
  beforeAll(() => {
    host = mkdtempSync(join(tmpdir(), 'hermetic-host-'));
    canary = join(host, 'canary');
    writeFileSync(canary, 'alive', { mode: 0o600 });
  });
  afterAll(() => rmSync(host, { recursive: true, force: true }));

  const expectUnharmed = (): void => {
    const { mode, uid } = lstatSync(canary);
    expect([readFileSync(canary, 'utf8'), mode & 0o777, uid]).toEqual(['alive', 0o600, process.getuid?.()]);
  };

  it('removes a tree of links, closed directories, odd names and two thousand levels, and nothing else', async () => {
    const spec = engine.spec({ limits });
    const sandbox = await engine.open(spec);
    await rig.withstand(async () => {
      const { stderr, exit } = await command(sandbox, awkwardTree, { args: [host] });
      expect({ stderr, exit }).toEqual({ stderr: '', exit: { kind: 'exited', code: 0 } });
      await sandbox.destroy();
    });
    expect(existsSync(spec.directory)).toBe(false);
    expectUnharmed();
  });

  it('deletes no file of the host when a sandbox swaps directories for links while it is destroyed', async () => {
    const spec = engine.spec({ limits });
    const sandbox = await engine.open(spec);
    await command(sandbox, flipping, { args: [host] });
    const remains = (await engine.backend.list()).find((one) => one.name === spec.name);
    await remains?.destroy();
    expect(existsSync(spec.directory)).toBe(false);
    expect(await sandbox.ended).toEqual(expect.any(String));
    await sandbox.close();
    expectUnharmed();
  });

  it('changes the owner of no file of the host when it takes over a workspace', async () => {
    const shared = join(host, 'shared');
    mkdirSync(shared);
    writeFileSync(join(shared, 'file'), 'shared');
    const before = lstatSync(join(shared, 'file'));
    const spec = engine.spec({ mounts: [{ source: shared, target: '/data', readOnly: false }] });
    let sandbox = await engine.open(spec);
    const links = await command(
      sandbox,
      `cd /workspace; ln -s "$1" soft; ln -s /etc/passwd passwd
       for file in /data/file /usr/bin/env /etc/hosts /run/hermetic/control; do ln "$file" hard && echo "linked $file"; done; ln -L soft hard; ls`,
      { args: [canary] },
    );
    expect(links.stdout).toBe('passwd\nsoft\n');
    await sandbox.close();
    // As after the program was run by somebody else for a while.
    const { workspace } = pathsIn(spec.directory);
    if (process.getuid?.() === 0) chownSync(workspace, 0, 0);
    symlinkSync(canary, join(workspace, 'planted'));
    sandbox = await engine.open(spec);
    expect((await command(sandbox, 'touch /workspace/mine && echo works')).stdout).toBe('works\n');
    await sandbox.destroy();
    expectUnharmed();
    const after = lstatSync(join(shared, 'file'));
    expect([after.uid, after.gid, after.mode, after.nlink]).toEqual([before.uid, before.gid, before.mode, before.nlink]);
    expect(lstatSync('/etc/passwd').uid).toBe(0);
  });

  it('opens a sandbox that closed its own directories to itself', async () => {
    const spec = engine.spec();
    const sandbox = await engine.open(spec);
    await command(sandbox, 'chmod 000 /workspace ~');
    await sandbox.close();
    const again = await engine.open(spec);
    expect((await command(again, 'cd /workspace && touch file ~/file && ls')).stdout).toBe('file\n');
    await again.destroy();
  });

  it('protects the directory of the pipes from every change inside', async () => {
    const sandbox = await rig.open();
    const attempts = [
      'rm -f $control',
      'mv $control $control.old',
      'ln -sf /etc/passwd $control',
      'ln -s /etc/passwd $attachment/99.end',
      'ln $control /workspace/control',
      'touch $attachment/new',
      'mkfifo $attachment/new',
      'mkdir /run/hermetic/new',
      'chmod 777 /run/hermetic',
      'chmod 000 $control',
      'chown 65534 $control',
      'truncate -s 0 /run/hermetic/forker.bash',
      'mount -t tmpfs none /run/hermetic',
      'mount --bind /tmp /run/hermetic',
      'mount -o remount,rw /run/hermetic',
      'umount -l /run/hermetic',
      'rm -rf /run/hermetic/*',
      'mv /run/hermetic /run/elsewhere',
    ];
    const script = `control=/run/hermetic/control; for attachment in /run/hermetic/*-*/; do :; done
      before=$(stat -c '%n %i %F %a %u' /run/hermetic /run/hermetic/*)
      for attempt; do eval "$attempt" && echo "did: $attempt"; done 2>/dev/null
      [[ $(stat -c '%n %i %F %a %u' /run/hermetic /run/hermetic/*) == "$before" ]] && echo unchanged`;
    expect((await command(sandbox, script, { args: attempts })).stdout).toBe('unchanged\n');
    expect((await command(sandbox, 'echo works')).stdout).toBe('works\n');
    await sandbox.destroy();
  });
}
