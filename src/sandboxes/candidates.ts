import { automaticKinds } from '../backends/index.ts';
import { HermeticError } from '../core/errors.ts';
import type { Backend } from '../core/sandbox.ts';
import { nearest } from '../lib/nearest.ts';

/** The backends a name stands for: one, or for `auto` those to try in turn. `names` are all that may be configured. */
export function candidatesFor(name: string, backends: ReadonlyMap<string, Backend>, names: readonly string[]): Backend[] {
  if (name !== 'auto') return [backendCalled(name, backends, names)];
  const all = automaticKinds.map((kind) => backendCalled(kind, backends, names));
  const last = all.findIndex(({ traits }) => traits.insists !== undefined);
  return last === -1 ? all : all.slice(0, last + 1);
}

function backendCalled(kind: string, backends: ReadonlyMap<string, Backend>, names: readonly string[]): Backend {
  const backend = backends.get(kind);
  if (backend) return backend;
  if (names.includes(kind)) {
    throw new HermeticError('backend/unavailable', `The ${kind} backend is not part of this version.`, {
      hint: `Available: auto, ${[...backends.keys()].join(', ')}.`,
    });
  }
  const close = nearest(kind, names);
  throw new HermeticError('backend/unknown', `There is no backend ${JSON.stringify(kind)}${close ? `; did you mean ${close}?` : '.'}`, {
    hint: `Valid names: ${names.join(', ')}.`,
  });
}
