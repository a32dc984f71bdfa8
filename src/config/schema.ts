import * as z from 'zod';
import type { ChannelDriver, PlatformOptions } from '../channels/driver.ts';
import { channelDrivers } from '../channels/index.ts';
import { webOptions } from '../channels/web/options.ts';
import { audit, codeExecution, log, model, security, toolOutput } from './sections/agent.ts';
import { approvals, gateway } from './sections/gateway.ts';
import { network } from './sections/network.ts';
import { secrets } from './sections/secrets.ts';
import { terminal } from './sections/terminal.ts';

export { backendNames } from './backend-names.ts';
export { parseVolume } from './volumes.ts';

type Platforms = { [Driver in (typeof channelDrivers)[number] as Driver['kind']]: z.ZodPrefault<Driver['options']> };

const drivers: readonly ChannelDriver[] = channelDrivers;
const platforms = Object.fromEntries(drivers.map(({ kind, options }) => [kind, options.prefault({})])) as unknown as Platforms;

/** The only definition of the configuration, with the options of every backend and channel. Loading, editing, listing and the reference are derived from it. */
export const configSchema = z.strictObject({
  terminal: terminal.prefault({}),
  network: network.prefault({}),
  secrets,
  gateway: gateway.prefault({}),
  approvals: approvals.prefault({}),
  code_execution: codeExecution.prefault({}),
  tool_output: toolOutput.prefault({}),
  security: security.prefault({}),
  audit: audit.prefault({}),
  log: log.prefault({}),
  model: model.prefault({}),
  ...platforms,
  web: webOptions.prefault({}),
});

export type Config = z.output<typeof configSchema>;

/** The sections of chat platforms, by the platform's name. */
export function platformSections(config: Config): Map<string, PlatformOptions> {
  return new Map(channelDrivers.map(({ kind }) => [kind, config[kind]]));
}
