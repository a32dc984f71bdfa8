import { pathsIn } from '../backends/sandbox-directory.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Action, CallOrigin, JudgeContext } from '../core/approval.ts';
import type { Backend, OpenSandbox, SandboxSpec } from '../core/sandbox.ts';
import { namedProcesses } from './named-processes.ts';

/** Where the action would run. */
interface Place {
  backend: Backend;
  spec: SandboxSpec;
  sandbox: Pick<OpenSandbox, 'definitions' | 'brought'>;
}

/** The context of a judgement about these actions in a sandbox of this installation. */
export function judgeContextOf(
  actions: readonly Action[],
  { backend, spec, sandbox }: Place,
  { source, role }: Pick<CallOrigin, 'source' | 'role'>,
  { home }: Pick<LoadedConfig, 'home'>,
): JudgeContext {
  const onHost = backend.traits.isolation === 'none';
  const { home: userHome, workdir } = backend.places(spec);
  const { workspace, home: sessionHome } = pathsIn(spec.directory);
  // On another machine the home is that of its user.
  const ownDirectories = onHost ? [workspace, sessionHome] : [backend.places({ ...spec, workdir: undefined }).workdir];
  const { definitions } = sandbox;
  return {
    session: spec.name,
    disposable: backend.traits.disposable,
    hostPaths: spec.mounts.filter(({ readOnly }) => !readOnly).map(({ target }) => target),
    source,
    role,
    home: userHome,
    ownPaths: onHost ? [home] : [],
    // A session works in its workspace, or where `terminal.cwd` says.
    sessionPaths: backend.traits.disposable ? [] : [...ownDirectories, workdir],
    processes: onHost ? namedProcesses(actions, { sandbox: spec.name, home }) : undefined,
    brought: sandbox.brought,
    definitions,
  };
}
