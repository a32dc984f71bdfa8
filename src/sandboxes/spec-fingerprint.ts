import { createHash } from 'node:crypto';
import type { Backend, SandboxSpec } from '../core/sandbox.ts';

/**
 * Equal for two specs that ask for the same sandbox of a backend, whoever it belongs to and wherever its files are.
 * Security: goes into the database and into listings, so values of variables enter as a hash bound to the installation.
 */
export function specFingerprint(installation: string, { kind, settings }: Pick<Backend, 'kind' | 'settings'>, spec: SandboxSpec): string {
  const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');
  const env = Object.entries(spec.env).map(([name, value]) => [name, digest([installation, name, value])]);
  const { cpus, memoryMb, diskMb, pids } = spec.limits;
  // Offered files are mounted from a place of the sandbox's own: only that they are counts.
  const mounts = spec.mounts.map(({ source, target, readOnly }) => [source.replace(spec.directory, ''), target, readOnly]);
  const rest = [kind, spec.image ?? null, spec.workdir ?? null, spec.network ?? null, spec.persistent, spec.user];
  return digest([rest, env.sort(), mounts, [cpus, memoryMb, diskMb, pids], settings]).slice(0, 32);
}

/** Ruining everything inside hurts nobody: also not in a directory of the host it can write to. */
export function isDisposable(traits: { disposable: boolean }, spec: SandboxSpec): boolean {
  return traits.disposable && spec.mounts.every(({ readOnly }) => readOnly);
}
