import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { quietly, run, startModal, wishFor } from './rig.ts';

const { fake, provider } = await startModal();

it('runs commands in a sandbox with bytes of all values both ways', async () => {
  const reference = await provider.create(wishFor(), quietly);
  const attach = provider.attach(reference);
  const input = Buffer.concat([Buffer.from(Array.from({ length: 256 }, (_, value) => value)), randomBytes(300_000)]);
  const { stdout, stderr, code } = await run(attach, 'cat; echo oops >&2; exit 3', input);
  expect(stdout.equals(input)).toBe(true);
  expect({ stderr: stderr.toString(), code }).toEqual({ stderr: 'oops\n', code: 3 });
  expect(await provider.state(reference)).toBe('running');
  await provider.remove(reference);
  expect(await provider.state(reference)).toBe('gone');
  expect(fake.running).toEqual([]);
});
