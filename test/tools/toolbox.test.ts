import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { CallOrigin, Guard } from '../../src/core/approval.ts';
import { HermeticError } from '../../src/core/errors.ts';
import type { Sandbox } from '../../src/core/sandbox.ts';
import type { ToolContext } from '../../src/core/tool.ts';
import { redactor } from '../../src/lib/redact.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { Toolbox } from '../../src/tools/toolbox.ts';

const secret = 'hunter2-is-the-password';
const sandbox = { name: 'none', cwd: '/', definitions: {} } as Sandbox;
const allow: Guard = async () => ({ allowed: true });

function toolNamed(name: string, run: (context: ToolContext) => Promise<{ value: unknown }>) {
  return defineTool({
    name,
    title: name,
    description: name,
    hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
    forScripts: true,
    input: z.strictObject({ path: z.string().optional() }),
    output: z.object({ value: z.unknown() }),
    prepare: ({ path = 'x' }) => ({ actions: [{ kind: 'read', path, cwd: '/' }], run }),
    render: ({ value }) => String(value),
  });
}

function boxWith(run: (context: ToolContext) => Promise<{ value: unknown }>, guard = allow, maxBytes = 1000): Toolbox {
  const inner = toolNamed('inner', async () => ({ value: secret }));
  return new Toolbox({ tools: [toolNamed('tool', run), inner], sandbox, guard, redact: redactor([secret]), maxBytes });
}

describe('the toolbox', () => {
  it('runs no tool when the guard throws, answers nonsense or denies', async () => {
    let runs = 0;
    const run = async () => ({ value: ++runs });
    const guards: Guard[] = [
      async () => {
        throw new Error('the store is gone');
      },
      async () => ({ allowed: false, reason: 'no' }),
      async () => undefined as never,
      async () => ({ allowed: 'yes' }) as never,
    ];
    for (const guard of guards) expect(await boxWith(run, guard).call('tool', {})).toMatchObject({ ok: false, failure: 'denied' });
    expect(runs).toBe(0);
  });

  it('turns every error of a tool into a result without secrets', async () => {
    const broken = boxWith(() => Promise.reject(new TypeError(`boom ${secret}`)));
    expect(await broken.call('tool', {})).toEqual({ ok: false, failure: 'failed', text: 'boom [redacted]' });
    const known = boxWith(() => Promise.reject(new HermeticError('tool/failed', 'No.', { hint: 'Try this.' })));
    expect((await known.call('tool', {})).text).toBe('No. Try this.');
  });

  it('redacts secrets in a result at any depth', async () => {
    const box = boxWith(async () => ({ value: [{ deep: { text: `a ${secret}` } }, 3, null] }));
    expect(await box.call('tool', {})).toMatchObject({ ok: true, data: { value: [{ deep: { text: 'a [redacted]' } }, 3, null] } });
  });

  it('passes an inner result unredacted to the tool that called', async () => {
    let seen: unknown;
    const box = boxWith(async (context) => {
      seen = await context.call('inner', {});
      return { value: 'done' };
    });
    await box.call('tool', {});
    expect(seen).toMatchObject({ ok: true, data: { value: secret } });
  });

  it('asks for inner calls on behalf of the same origin', async () => {
    const origins: CallOrigin[] = [];
    const guard: Guard = async ([action], origin) => {
      origins.push(origin);
      return action?.kind === 'read' && action.path === 'forbidden' ? { allowed: false, reason: 'no' } : { allowed: true };
    };
    const box = boxWith(async (context) => ({ value: (await context.call('inner', { path: 'forbidden' })).ok }), guard);
    const origin: CallOrigin = { source: 'cron', role: 'user', approver: undefined };
    expect(await box.call('tool', {}, { origin })).toMatchObject({ data: { value: false } });
    expect(origins).toEqual([origin, origin]);
  });

  it('bounds the size of a result', async () => {
    const { text } = await boxWith(async () => ({ value: 'x'.repeat(100_000) })).call('tool', {});
    expect(text.length).toBeLessThan(2_200);
  });

  it('runs no tool that was interrupted while a person was asked', async () => {
    const controller = new AbortController();
    let runs = 0;
    const guard: Guard = async () => {
      controller.abort();
      return { allowed: true };
    };
    const result = await boxWith(async () => ({ value: ++runs }), guard).call('tool', {}, { signal: controller.signal });
    expect([result, runs]).toEqual([expect.objectContaining({ failure: 'interrupted' }), 0]);
  });

  it('redacts a secret that arrives in pieces, and a private key', async () => {
    const shown: string[] = [];
    const box = boxWith(async ({ progress }) => {
      for (const piece of [
        'a ',
        secret.slice(0, 9),
        secret.slice(9),
        '\n',
        '-----BEGIN RSA PRIVATE KEY-----\nabc\n',
        'def\n-----END RSA PRIVATE KEY-----\nrest',
      ])
        progress(piece);
      return { value: '' };
    });
    await box.call('tool', {}, { progress: (text) => shown.push(text) });
    expect(shown.join('')).toBe('a [redacted]\n[redacted]\nrest');
  });

  it.each([16_384, 65_536])('redacts a secret at the cut of a line of %i characters', async (length) => {
    const shown: string[] = [];
    const box = boxWith(async ({ progress }) => {
      progress('x'.repeat(length - 5) + secret.slice(0, 10));
      progress(`${secret.slice(10)}${'y'.repeat(length)}`);
      return { value: '' };
    });
    await box.call('tool', {}, { progress: (text) => shown.push(text) });
    expect(shown.join('')).toBe(`${'x'.repeat(length - 5)}[redacted]${'y'.repeat(length)}`);
  });
});
