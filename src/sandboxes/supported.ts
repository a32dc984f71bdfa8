import { HermeticError } from '../core/errors.ts';
import type { Backend, SandboxSpec, Wish } from '../core/sandbox.ts';

/** What each wish means in a spec. A new wish does not compile until it is told here. */
const asks: Record<Wish, (spec: SandboxSpec) => boolean> = {
  image: (spec) => spec.image !== undefined,
  mounts: (spec) => spec.mounts.length > 0,
  'host-user': (spec) => spec.user === 'host',
  'network-none': (spec) => spec.network === 'none',
  'network-restricted': (spec) => spec.network === 'restricted',
  'network-open': (spec) => spec.network === 'open',
  ephemeral: (spec) => !spec.persistent,
};

/** Throws when the spec asks for anything this backend cannot give. Nothing is ever quietly left out. */
export function refuseUnhonoured(backend: Backend, spec: SandboxSpec): void {
  const reasons = (Object.keys(asks) as Wish[])
    .filter((wish) => asks[wish](spec))
    .map((wish) => backend.traits.honours[wish])
    .filter((answer) => answer !== true);
  if (reasons.length === 0) return;
  throw new HermeticError('backend/cannot-honour', `The ${backend.kind} backend cannot do what is asked: ${reasons.join('; ')}.`, {
    hint: 'Change the setting, or use another backend (hermetic doctor shows which work here).',
  });
}
