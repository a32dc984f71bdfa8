import { afterAll, beforeAll } from 'vitest';
import type { Action, Permission } from '../../src/core/approval.ts';
import type { OpenSandbox, SandboxSpec } from '../../src/core/sandbox.ts';
import type { Tool, ToolResult } from '../../src/core/tool.ts';
import { redactor } from '../../src/lib/redact.ts';
import { type CallOptions, Toolbox } from '../../src/tools/toolbox.ts';
import type { TestEngine } from '../engines.ts';

export const secret = 'hunter2-is-the-password';

/** A toolbox at the sandbox that the tests of a theme share. */
export interface ToolRig {
  readonly sandbox: OpenSandbox;
  readonly toolbox: Toolbox;
  /** What tools declared, and what the guard says to it. */
  readonly asked: Action[];
  permission: Permission;
  call(name: string, input: unknown, options?: CallOptions): Promise<ToolResult>;
  /** The data of a call that must succeed. */
  data<Data = Record<string, unknown>>(name: string, input: unknown, options?: CallOptions): Promise<Data>;
}

export function useToolRig(
  engine: TestEngine,
  toolsFor: (sandbox: OpenSandbox) => readonly Tool[],
  options: { spec?: Partial<SandboxSpec>; maxBytes?: number } = {},
): ToolRig {
  let sandbox: OpenSandbox | undefined;
  let toolbox: Toolbox | undefined;
  const rig: ToolRig = {
    get sandbox() {
      if (!sandbox) throw new Error('the sandbox is not open yet');
      return sandbox;
    },
    get toolbox() {
      if (!toolbox) throw new Error('the sandbox is not open yet');
      return toolbox;
    },
    asked: [],
    permission: { allowed: true },
    call: (name, input, callOptions) => rig.toolbox.call(name, input, callOptions),
    data: async (name, input, callOptions) => {
      const result = await rig.call(name, input, callOptions);
      if (!result.ok) throw new Error(result.text);
      return result.data as never;
    },
  };
  beforeAll(async () => {
    sandbox = await engine.open(engine.spec(options.spec));
    const guard = async (actions: readonly Action[]): Promise<Permission> => {
      rig.asked.push(...actions);
      return rig.permission;
    };
    toolbox = new Toolbox({
      tools: toolsFor(sandbox),
      sandbox,
      guard,
      redact: redactor([secret]),
      maxBytes: options.maxBytes ?? 50_000,
    });
  });
  afterAll(() => sandbox?.destroy());
  return rig;
}
