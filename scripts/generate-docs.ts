import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { containerProfile } from '../src/backends/namespaces/container-profile.ts';
import { approvalRulesReference } from '../src/bash-judge/index.ts';
import { configExample } from '../src/config/example.ts';
import { configReference, errorReference } from '../src/config/reference.ts';
import { configSchema } from '../src/config/schema.ts';
import type { Sandbox } from '../src/core/sandbox.ts';
import { commandReference } from '../src/gateway/commands/reference.ts';
import { toolSet } from '../src/tools/index.ts';
import { toolReference } from '../src/tools/reference.ts';

const { terminal, code_execution: code } = configSchema.parse({});
/** The tools with the default configuration, at a sandbox that is never used. */
const { tools } = toolSet({
  sandbox: {} as Sandbox,
  terminal: { timeoutSeconds: terminal.timeout, maxTimeoutSeconds: terminal.max_foreground_timeout },
  code: { timeoutSeconds: code.timeout, maxToolCalls: code.max_tool_calls, mode: code.mode },
  deliver: async () => undefined,
});
const toolPages = Object.fromEntries(tools.map((tool) => [`tools/${tool.name}.md`, () => toolReference(tool)]));
const pages: Record<string, () => string> = {
  'config.md': configReference,
  'config.example.yaml': configExample,
  'errors.md': errorReference,
  'approval-rules.md': approvalRulesReference,
  'commands.md': commandReference,
  '../deploy/container/seccomp.json': containerProfile,
  ...toolPages,
};
const check = process.argv.includes('--check');

for (const [name, render] of Object.entries(pages)) {
  const path = join(import.meta.dirname, '../docs', name);
  if (!check) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, render());
  } else if (readFileSync(path, 'utf8') !== render()) {
    process.stderr.write(`docs/${name} is stale: run \`npm run docs\`.\n`);
    process.exitCode = 1;
  }
}
