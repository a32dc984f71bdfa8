import { describe, expect, it } from 'vitest';
import type { SandboxSpec } from '../../src/core/sandbox.ts';
import { specFingerprint } from '../../src/sandboxes/spec.ts';
import { specWith } from '../sandbox-spec.ts';

const spec = specWith({
  name: 'a',
  session: 'a',
  directory: '/sandboxes/a',
  image: 'debian:12',
  env: { TOKEN: 'secret', A: '1' },
  mounts: [{ source: '/sandboxes/a/credentials', target: '/opt/hermetic/credentials', readOnly: true }],
  limits: { cpus: 1, memoryMb: 512, diskMb: 0, pids: 64 },
  network: undefined,
});
const of = (changes: Partial<SandboxSpec> = {}, installation = 'one', settings: readonly string[] = []) =>
  specFingerprint(installation, { kind: 'docker', settings }, { ...spec, ...changes });

describe('the fingerprint of a spec', () => {
  it('ignores session, idle time and the order of variables in the fingerprint', () => {
    const mounts = [{ source: '/sandboxes/b/credentials', target: '/opt/hermetic/credentials', readOnly: true }];
    expect(of({ name: 'b', session: 'b', directory: '/sandboxes/b', idleSeconds: 1, mounts, env: { A: '1', TOKEN: 'secret' } })).toBe(of());
  });

  it.each<Partial<SandboxSpec>>([
    { image: 'debian:13' },
    { env: { TOKEN: 'other', A: '1' } },
    { mounts: [] },
    { limits: { ...spec.limits, memoryMb: 513 } },
    { network: 'none' },
    { persistent: false },
    { user: 'host' },
  ])('changes the fingerprint with %j', (changes) => {
    expect(of(changes)).not.toBe(of());
  });

  it('changes the fingerprint with the settings of the backend', () => {
    expect(of({}, 'one', ['runtime runsc'])).not.toBe(of());
  });

  it('gives a spec different fingerprints in different installations', () => {
    expect(of({}, 'two')).not.toBe(of({}, 'one'));
  });
});
