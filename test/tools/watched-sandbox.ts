import type { ExecHandle, ExecRequest, OpenSandbox } from '../../src/core/sandbox.ts';

/** The same sandbox, with something done before each of its commands. */
export function watchedSandbox(sandbox: OpenSandbox, before: (request: ExecRequest) => Promise<void> | void): OpenSandbox {
  return Object.create(sandbox, {
    cwd: { get: () => sandbox.cwd },
    definitions: { get: () => sandbox.definitions },
    name: { get: () => sandbox.name },
    exec: {
      value: async (request: ExecRequest): Promise<ExecHandle> => {
        await before(request);
        return await sandbox.exec(request);
      },
    },
  }) as OpenSandbox;
}
