import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { describeWorld, type World, worldAddress } from './world.ts';

/** A program on the gateway that looks names up, one after the other. */
async function withLookups(world: World, work: (look: (host: string) => Promise<string>) => Promise<void>): Promise<void> {
  const [file = '', ...words] = [...world.command, process.execPath, join(import.meta.dirname, 'lookup-program.ts')];
  const child = spawn(file, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  try {
    await work(async (host) => {
      child.stdin.write(`${host}\n`);
      return (await lines.next()).value as string;
    });
  } finally {
    child.stdin.end();
    await closed;
  }
}

describeWorld((world) => {
  it('a gateway that runs follows /etc/resolv.conf and /etc/hosts when they change', async () => {
    const [servers, hosts] = ['resolv.conf', 'hosts'].map((name) => join(world().directory, name));
    if (servers === undefined || hosts === undefined) throw new Error('no files');
    const [ownServers, ownHosts] = [readFileSync(servers), readFileSync(hosts, 'utf8')];
    // No server is there.
    writeFileSync(servers, 'nameserver 127.0.0.1\n');
    await withLookups(world(), async (look) => {
      expect(await look('one.test')).toBe('');
      writeFileSync(servers, ownServers);
      expect(await look('one.test')).toBe(worldAddress);
      writeFileSync(hosts, `${ownHosts}203.0.113.77 one.test corp\n`);
      expect(await look('one.test')).toBe('203.0.113.77');
      expect(await look('corp')).toBe('203.0.113.77');
      writeFileSync(hosts, ownHosts);
      expect(await look('one.test')).toBe(worldAddress);
      await world().answerName('both.test', { addresses: ['203.0.113.5', '2001:db8::5'] });
      // The gateway's address of IPv6 is a private one.
      expect(await look('both.test')).toBe('203.0.113.5 2001:db8::5');
    });
  });
});
