import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { mountedEngineSockets } from '../../src/backends/engine-sockets.ts';

it('finds the socket of an engine that is mounted into a container, under any name', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-mounted-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const table = join(directory, 'mountinfo');
  const lines = [
    '620 510 0:52 / / rw,relatime - overlay overlay rw',
    '630 620 0:23 /docker.sock /run/docker.sock rw,nosuid - tmpfs tmpfs rw',
    '631 620 0:23 /podman/podman.sock /srv/engine rw,nosuid - tmpfs tmpfs rw',
    '632 620 8:1 /var/lib/docker/containers/0a/hosts /etc/hosts rw,relatime - ext4 /dev/sda1 rw',
    '633 620 8:1 /srv/mysqld.sock /run/mysqld.sock rw,relatime - ext4 /dev/sda1 rw',
  ];
  writeFileSync(table, `${lines.join('\n')}\n`);
  expect(await mountedEngineSockets(table)).toEqual(['/run/docker.sock', '/srv/engine']);
  expect(await mountedEngineSockets(join(directory, 'none'))).toEqual([]);
});
