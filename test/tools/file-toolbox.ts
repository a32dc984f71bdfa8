import { expect } from 'vitest';
import type { Action } from '../../src/core/approval.ts';
import type { Output } from '../../src/core/tool.ts';
import { unredacted } from '../../src/lib/redact.ts';
import { editFile } from '../../src/tools/files/edit-file.ts';
import { readFile } from '../../src/tools/files/read-file.ts';
import { searchFiles } from '../../src/tools/files/search-files.ts';
import { writeFile } from '../../src/tools/files/write-file.ts';
import { type CallOptions, Toolbox } from '../../src/tools/toolbox.ts';
import { type Rig, useRig } from '../contracts/sandbox/rig.ts';
import type { TestEngine } from '../engines.ts';

export const maxBytes = 50_000;

export const names = ['with blank', 'line\nbreak', '-dash', 'ünïcødé 日本 🦀', `it's "quoted"`, '$HOME', '`id`', '*', '~', '\\', 'end\n'];

/** The file tools on one sandbox that the tests of a file share. */
export interface FileTools extends Rig {
  /** Everything that was asked for permission. */
  readonly actions: Action[];
  /** What a call that must succeed gives back. */
  data<Result = Output>(name: string, input: object, options?: CallOptions): Promise<Result>;
  /** What a model reads of a call that must succeed. */
  text(name: string, input: object): Promise<string>;
  /** Why a call that must fail did. */
  failure(name: string, input: object, options?: CallOptions): Promise<string>;
}

export function useFileTools(engine: TestEngine): FileTools {
  const rig = useRig(engine);
  const actions: Action[] = [];
  const call = (name: string, input: object, options?: CallOptions) => {
    const guard = async (asked: readonly Action[]) => {
      actions.push(...asked);
      return { allowed: true } as const;
    };
    const tools = [readFile, writeFile, editFile, searchFiles];
    return new Toolbox({ tools, sandbox: rig.sandbox, guard, redact: unredacted, maxBytes }).call(name, input, options);
  };
  const succeed = async (name: string, input: object, options?: CallOptions) => {
    const result = await call(name, input, options);
    if (!result.ok) expect.fail(`${name} failed: ${result.text}`);
    return result;
  };
  const { start, run, output, succeeds } = rig;
  return {
    get sandbox() {
      return rig.sandbox;
    },
    get workdir() {
      return rig.workdir;
    },
    start,
    run,
    output,
    succeeds,
    actions,
    data: async <Result>(name: string, input: object, options?: CallOptions) => (await succeed(name, input, options)).data as Result,
    text: async (name, input) => (await succeed(name, input)).text,
    failure: async (name, input, options) => {
      const result = await call(name, input, options);
      if (result.ok) expect.fail(`${name} did not fail: ${result.text}`);
      return result.text;
    },
  };
}

export const kinds = ['local', 'bubblewrap', 'docker'];
