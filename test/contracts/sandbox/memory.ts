import { expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';

const megabyte = 1024 * 1024;

export function memoryContract(engine: TestEngine): void {
  it('keeps host memory growth under 32 MB while 300 MB of output pass through', async () => {
    const spec = engine.spec();
    // The first round lets the runtime reserve what it reserves anyway.
    const commands = [32, 300].map((count) => `head -c ${count * megabyte} /dev/zero`);
    const client = await engine.startClient({ spec, action: 'measure', commands });
    await client.kill();
    const { bytes, grownBy } = client.answer as { bytes: number; grownBy: number };
    expect(bytes).toBe(300 * megabyte);
    expect(grownBy / megabyte).toBeLessThan(32);
  });
}
