import * as z from 'zod';
import { audit, codeExecution, model, security, toolOutput } from './sections/agent.ts';
import { platformNames, platforms, web } from './sections/channels.ts';
import { approvals, gateway } from './sections/gateway.ts';
import { terminal } from './sections/terminal.ts';

export { backendNames } from './backend-names.ts';
export { parseVolume } from './volumes.ts';

/** The only definition of the configuration. Loading, editing, listing and the reference are derived from it. */
export const configSchema = z.strictObject({
  terminal: terminal.prefault({}),
  gateway: gateway.prefault({}),
  approvals: approvals.prefault({}),
  code_execution: codeExecution.prefault({}),
  tool_output: toolOutput.prefault({}),
  security: security.prefault({}),
  audit: audit.prefault({}),
  model: model.prefault({}),
  telegram: platforms.telegram.prefault({}),
  web: web.prefault({}),
});

export type Config = z.output<typeof configSchema>;

/** The sections of chat platforms, by the platform's name. */
export function platformSections(config: Config) {
  return new Map<string, Config[(typeof platformNames)[number]]>(platformNames.map((name) => [name, config[name]]));
}
