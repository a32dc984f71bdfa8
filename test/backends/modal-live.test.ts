import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { providerOf, quietly, run, wishFor } from './modal/rig.ts';

const { MODAL_TOKEN_ID, MODAL_TOKEN_SECRET, MODAL_ENVIRONMENT } = process.env;
const hasToken = Boolean(MODAL_TOKEN_ID && MODAL_TOKEN_SECRET);
const deadlineMs = 600_000;

// At Modal itself, for money: only when a token is set.
describe.skipIf(!hasToken)('modal itself (needs MODAL_TOKEN_ID and MODAL_TOKEN_SECRET)', { timeout: deadlineMs }, () => {
  const provider = providerOf({ MODAL_TOKEN_ID, MODAL_TOKEN_SECRET, MODAL_ENVIRONMENT });
  const labels = { 'hermetic-installation': `test-${randomBytes(6).toString('hex')}`, 'hermetic-name': 'live' };
  const wish = wishFor({ image: 'python:3.13', idleSeconds: 120, network: 'none' }, labels);
  const saved: string[] = [];
  afterAll(async () => {
    for (const { reference } of await provider.list(labels)) await provider.remove(reference);
    for (const reference of saved) await provider.remove(reference);
  }, deadlineMs);

  it('runs commands with all bytes and exit codes, without a network, and brings files back', async () => {
    const reference = await provider.create(wish, quietly);
    const attach = provider.attach(reference);
    const input = randomBytes(300_000);
    const { stdout, stderr, code } = await run(attach, 'cat; echo oops >&2; exit 3', input);
    expect([stdout.equals(input), stderr.toString(), code]).toEqual([true, 'oops\n', 3]);
    expect((await run(attach, 'exec 3<>/dev/tcp/1.1.1.1/443')).code).not.toBe(0);
    expect((await provider.list(labels)).map((one) => one.reference)).toEqual([reference]);
    await run(attach, 'echo kept >/workspace/note');
    saved.push(await provider.stop(reference));
    expect([await provider.state(reference), await provider.state(saved[0] ?? '')]).toEqual(['gone', 'stopped']);
    const again = await provider.resume(saved[0] ?? '', wish, quietly);
    expect((await run(provider.attach(again), 'cat /workspace/note')).stdout.toString()).toBe('kept\n');
  });

  it('has the file by which processes of a command are found', async () => {
    const reference = await provider.create(wish, quietly);
    const { stdout } = await run(provider.attach(reference), 'ulimit -x 1234567890123456; cat /proc/$$/limits');
    expect(stdout.toString()).toMatch(/Max file locks +1234567890123456 +1234567890123456 /);
    await provider.remove(reference);
  });
});
