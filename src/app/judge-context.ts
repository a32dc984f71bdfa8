import { pathsIn } from '../backends/sandbox-directory.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { CallOrigin, JudgeContext } from '../core/approval.ts';
import type { Backend, SandboxSpec, SessionMeaning } from '../core/sandbox.ts';

/** Where the action would run. */
interface Place {
  backend: Backend;
  spec: SandboxSpec;
  sandbox: Pick<SessionMeaning, 'definitions'>;
}

/** The context of a judgement in a sandbox of this installation. */
export function judgeContextOf(
  { backend, spec, sandbox }: Place,
  { source, role }: Pick<CallOrigin, 'source' | 'role'>,
  { home }: Pick<LoadedConfig, 'home'>,
): JudgeContext {
  const onHost = backend.traits.isolation === 'none';
  return {
    disposable: backend.traits.disposable,
    hostPaths: spec.mounts.filter(({ readOnly }) => !readOnly).map(({ target }) => target),
    source,
    role,
    home: backend.places(spec).home,
    ownPaths: onHost ? [home] : [],
    // Without isolation a session works in a directory of Hermetic's home, or where `terminal.cwd` says.
    sessionPaths: onHost ? [pathsIn(spec.directory).workspace, pathsIn(spec.directory).home, backend.places(spec).workdir] : [],
    definitions: sandbox.definitions,
  };
}
