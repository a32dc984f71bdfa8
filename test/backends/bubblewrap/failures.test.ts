import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { explainFailure, notInstalled } from '../../../src/backends/bubblewrap/failures.ts';
import { probe } from '../../../src/backends/bubblewrap/probe.ts';
import { containerRemedy } from '../../../src/backends/container-remedy.ts';
import { itNeeding } from '../../needs.ts';
import { describeBubblewrap, makeDirectories, noLimits, run, start } from './open.ts';

describe('errors of bubblewrap', () => {
  it.each([
    ['bwrap: setting up uid map: Permission denied', /namespaces/],
    ['bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted', /namespaces/],
    [
      'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.',
      /namespaces/,
    ],
    ['bwrap: No permissions to creating new namespace, likely because the kernel', /namespaces/],
    ['bwrap: Creating new namespace failed: Operation not permitted', /namespaces/],
    ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", /\/proc/],
    ['bwrap: Failed to make / slave: Permission denied', /Mounts/],
    ['unshare: unshare failed: Operation not permitted', /mount namespaces/],
  ])('explains "%s" with a fix', async (stderr, reason) => {
    expect(await explainFailure(stderr)).toMatchObject({ code: 'backend/unavailable', reason: expect.stringMatching(reason), fix: /.+/ });
  });

  const inContainer = [
    'unshare: unshare failed: Operation not permitted',
    'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.',
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    'bwrap: Failed to make / slave: Permission denied',
    'bwrap: pivot_root: Operation not permitted',
    "bwrap: Can't set hostname to hermetic: Operation not permitted",
  ];

  it.each(inContainer)('names all options of the container for "%s"', async (stderr) => {
    expect(await explainFailure(stderr, { remedy: 'Start it with these options.' })).toMatchObject({ fix: 'Start it with these options.' });
    expect((await explainFailure(stderr, { remedy: undefined }))?.fix ?? '').not.toContain('options');
  });

  it.each([
    ['.dockerenv', /docker run --user 1000:1000 --cap-drop ALL .*seccomp=deploy\/container\/seccomp\.json .*systempaths=unconfined\. /],
    ['run/.containerenv', /podman run --user 1000:1000 --cap-drop ALL .*seccomp=deploy\/container\/seccomp\.json .*unmask=ALL\. /],
    ['var/run/secrets/kubernetes.io/token', /terminal\.backend to kubernetes; .*procMount: Unmasked/],
  ])('names the options of the engine in whose container it is: %s', (path, options) => {
    const root = mkdtempSync(join(tmpdir(), 'hermetic-container-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    expect(containerRemedy(root)).toBeUndefined();
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), '');
    expect(containerRemedy(root)).toMatch(options);
    expect(containerRemedy(root)).not.toMatch(/SYS_ADMIN|seccomp=unconfined|apparmor/);
    expect(notInstalled({ remedy: containerRemedy(root) }).fix).toMatch(/^apt-get install bubblewrap, in the image\. /);
    if (path.startsWith('var')) return;
    mkdirSync(join(root, 'sys/module/apparmor/parameters'), { recursive: true });
    writeFileSync(join(root, 'sys/module/apparmor/parameters/enabled'), 'Y\n');
    expect(containerRemedy(root)).toContain('--security-opt apparmor=unconfined');
  });

  it.each(['kernel/apparmor_restrict_unprivileged_userns', 'kernel/unprivileged_userns_clone', 'user/max_user_namespaces'])(
    'names the options of the container where its machine has %s set, and what to change there',
    async (name) => {
      const stderr = 'bwrap: No permissions to create new namespace, likely because the kernel does not allow it.';
      const setting = async (asked: string) => (asked === name ? Number(name.includes('apparmor')) : undefined);
      const inside = await explainFailure(stderr, { remedy: 'Start it with these options.', setting });
      expect(inside?.fix).toMatch(/^Start it with these options\. Before, on the machine outside: .*sudo /);
      expect((await explainFailure(stderr, { remedy: undefined, setting }))?.fix).not.toContain('outside');
    },
  );

  it('names the options where it cannot be read whether there is AppArmor', () => {
    const root = mkdtempSync(join(tmpdir(), 'hermetic-container-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    writeFileSync(join(root, '.dockerenv'), '');
    mkdirSync(join(root, 'sys/module/apparmor/parameters/enabled'), { recursive: true });
    expect(containerRemedy(root)).toMatch(/systempaths=unconfined\. /);
  });

  it('leaves an unrelated error of bubblewrap unexplained', async () => {
    expect(await explainFailure("bwrap: Can't find source path /x: No such file or directory")).toBeUndefined();
  });
});

describeBubblewrap('the probe of bubblewrap', () => {
  it('passes the probe with a working bubblewrap', async () => {
    expect(await probe()).toEqual({ ok: true });
  });

  it('quotes bubblewrap when a mount fails', async () => {
    const refused = start('ordinary', 'true', { mounts: [{ source: '/usr', target: '/usr/no/such/place', readOnly: true }] });
    await expect(refused).rejects.toMatchObject({ code: 'sandbox/open-failed', message: expect.stringContaining('bwrap: ') });
  });

  itNeeding(['root'], 'reports that bubblewrap is not installed', async () => {
    const hidden = ['unshare', '--mount', 'bash', '-c', 'mount --bind /dev/null "$(command -v bwrap)"; exec "$@"', 'bash'];
    const refused = start('root', 'true', {}, hidden);
    await expect(refused).rejects.toMatchObject({
      code: 'backend/not-installed',
      hint: expect.stringMatching(/^apt-get install bubblewrap/),
    });
  });

  itNeeding(['root'], 'reports that user namespaces are forbidden', async () => {
    const forbidden = [
      'unshare',
      '--user',
      '--map-root-user',
      'bash',
      '-c',
      'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"',
      'bash',
    ];
    const refused = start('ordinary', 'true', {}, forbidden);
    await expect(refused).rejects.toMatchObject({ code: 'backend/unavailable', hint: expect.stringContaining('user.max_user_namespaces') });
  });

  itNeeding(['root'], 'starts a sandbox as root of a user namespace with no other users', async () => {
    const running = await start('ordinary', 'id -u', {}, ['unshare', '--user', '--map-root-user']);
    expect(running.enforcement.memoryMb.enforced).toBe(false);
    expect((await running.ended).stdout).toBe('1000\n');
  });

  itNeeding(['root'], 'starts a sandbox with an older bubblewrap that lacks some options', async () => {
    const { directory } = makeDirectories('root');
    chmodSync(directory, 0o755);
    const real = execFileSync('which', ['bwrap'], { encoding: 'utf8' }).trim();
    copyFileSync(real, join(directory, 'real'));
    const older = `#!/bin/bash
      mapfile -d '' -t words <&3
      for word in "\${words[@]}"; do
        case $word in --disable-userns | --size) echo "bwrap: Unknown option $word" >&2; exit 1 ;; esac
      done
      exec 3<&-
      exec ${directory}/real "\${words[@]}" "\${@:3}"`;
    writeFileSync(join(directory, 'older'), older, { mode: 0o755 });
    const replaced = [
      'unshare',
      '--mount',
      'bash',
      '-c',
      'mount --bind "$1" "$2"; shift 2; exec "$@"',
      'bash',
      join(directory, 'older'),
      real,
    ];
    const limits = { ...noLimits, memoryMb: 512 };
    const running = await start('root', 'id -u; unshare -U true 2>&1', { limits }, replaced);
    expect((await running.ended).stdout).toBe('1000\nunshare: unshare failed: Operation not permitted\n');
  });

  it('exits with 127 when the command does not exist', async () => {
    expect(await run('ordinary', 'true', { command: ['no-such-program'] })).toMatchObject({ code: 127 });
  });
});
