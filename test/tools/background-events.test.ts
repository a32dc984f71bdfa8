import { expect, it } from 'vitest';
import { redactor } from '../../src/lib/redact.ts';
import { backgroundEvent } from '../../src/tools/background-events.ts';
import type { BackgroundProcess } from '../../src/tools/background-process.ts';

it('shows no part of a secret that begins before the end of the output that is told', () => {
  const secret = 'correct-horse-battery-staple';
  const told = Array.from({ length: secret.length }, (_, shift) => {
    const tail = Buffer.from(`${'x'.repeat(500)}${secret}${'.'.repeat(2_000 - shift)}`);
    const process = { facts: { id: 'a', command: 'print' }, tail, awaitedBy: 0 } as unknown as BackgroundProcess;
    const event = backgroundEvent(process, { kind: 'ended', state: { kind: 'exited', code: 0 } }, redactor([secret]));
    return event.kind === 'ended' ? event.output : '';
  });
  for (const output of told) {
    expect(output.length).toBeLessThanOrEqual(2_000);
    expect(output).not.toMatch(/staple/);
  }
});
