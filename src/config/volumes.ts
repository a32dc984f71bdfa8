import * as z from 'zod';
import { HermeticError } from '../core/errors.ts';
import type { Mount } from '../core/sandbox.ts';
import { notes } from '../lib/setting-kinds.ts';

const form = 'host:container, host:container:ro or host:container:rw, both paths absolute (the host path may start with ~/)';

/**
 * Takes `host:container[:ro|:rw]` apart. A source that starts with `~/` is given back so: whose home that is depends on the
 * environment, so `loadConfig` expands it before anything else sees the entry.
 */
export function parseVolume(entry: string): Mount {
  const flaw = flawOf(entry);
  if (flaw) throw new HermeticError('config/bad-value', `${JSON.stringify(entry)} is not a volume: ${flaw}.`, { hint: `Write ${form}.` });
  const [source = '', target = '', mode] = entry.split(':');
  return { source, target, readOnly: mode === 'ro' };
}

function flawOf(entry: string): string | undefined {
  const [source = '', target = '', mode, ...rest] = entry.split(':');
  if (!entry.includes(':') || rest.length > 0) return 'it does not have two or three parts';
  if (source === '') return 'the host path is empty';
  if (target === '') return 'the container path is empty';
  if (entry.includes('\0')) return 'it contains a NUL character';
  if (!source.startsWith('/') && !source.startsWith('~/')) return 'the host path is not absolute';
  if (!target.startsWith('/')) return 'the container path is not absolute';
  if (target.split('/').includes('..')) return 'the container path contains ..';
  if (/^[/.]+$/.test(target)) return 'the container path is the root of the file system';
  if (mode !== undefined && mode !== 'ro' && mode !== 'rw') return 'the mode is neither ro nor rw';
  return undefined;
}

export function volume() {
  return z
    .string()
    .superRefine((entry, context) => {
      const flaw = flawOf(entry);
      if (flaw) context.addIssue({ code: 'custom', message: flaw });
    })
    .register(notes, { expects: form });
}
