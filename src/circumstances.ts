import type { LoadedConfig } from './config/load.ts';
import type { CallOrigin, Circumstances } from './core/approval.ts';
import type { Backend, SandboxSpec, SessionMeaning } from './core/sandbox.ts';
import { pathsIn } from './sandboxes/sandbox-directory.ts';
import { isDisposable } from './sandboxes/spec-fingerprint.ts';

/** Where what is judged would run. */
interface Place {
  backend: Backend;
  spec: SandboxSpec;
  sandbox: Pick<SessionMeaning, 'definitions'>;
}

/** What a judgement depends on beside the action, in a sandbox of this installation. */
export function circumstancesOf(
  { backend, spec, sandbox }: Place,
  { source, role }: Pick<CallOrigin, 'source' | 'role'>,
  { home, environment }: Pick<LoadedConfig, 'home' | 'environment'>,
): Circumstances {
  const onHost = isOnHost(backend);
  return {
    disposable: isDisposable(backend.traits, { ...spec, mounts: [] }),
    hostPaths: spec.mounts.filter(({ readOnly }) => !readOnly).map(({ target }) => target),
    source,
    role,
    home: spec.env.HOME ?? (onHost ? (environment.HOME ?? '/root') : '/root'),
    ownPaths: onHost ? [home] : [],
    // Without isolation a session works in a directory of Hermetic's home.
    sessionPaths: onHost ? [pathsIn(spec.directory).workspace, pathsIn(spec.directory).home] : [],
    definitions: sandbox.definitions,
  };
}

/** Where a session begins. */
export function firstDirectory({ backend, spec }: Pick<Place, 'backend' | 'spec'>): string {
  return spec.workdir ?? (isOnHost(backend) ? pathsIn(spec.directory).workspace : '/workspace');
}

function isOnHost({ traits }: Backend): boolean {
  return traits.isolation === 'none';
}
