import { afterAll, describe, expect, it } from 'vitest';
import { vercelOptions } from '../../../src/backends/vercel/options.ts';
import { VercelProvider } from '../../../src/backends/vercel/provider.ts';
import { FakeVercel } from '../../fakes/vercel/api.ts';
const fake = await FakeVercel.start();
afterAll(() => fake.close());
const provider = new VercelProvider(fake.environment, vercelOptions.parse({ vercel_api_root: fake.root }));
const spec = { name: 'test-a', session: '', directory: '', image: undefined, workdir: undefined, env: {}, mounts: [], limits: { cpus: 1, memoryMb: 1024, diskMb: 0, pids: 0 }, network: 'none', persistent: true, user: 'default', idleSeconds: 300, backgroundSeconds: 0 } as const;
describe('x', () => {
  it('works', async () => {
    console.log(await provider.account());
    const name = await provider.create({ spec, labels: { a: 'b' } }, { progress: () => undefined, signal: undefined });
    const c = await provider.attach(name)(['bash', '-c', 'id -u; cat; echo e >&2; exit 3']);
    c.stdin.write('hello\n');
    c.stdin.end();
    let out = '';
    c.stdout.on('data', (d) => (out += d));
    for await (const d of c.stderr) out += `err ${d}`;
    expect(await c.exitCode()).toBe(3);
    console.log(out, fake.requests);
    await provider.remove(name);
  });
});
