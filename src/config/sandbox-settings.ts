import type { BackendDriver } from '../backends/driver.ts';
import { backendDrivers } from '../backends/index.ts';
import type { LoadedConfig } from './load.ts';
import type { Config } from './schema.ts';

/** Whose sandbox it is: of the person at the terminal, or of people in chats. */
export type Audience = 'cli' | 'messaging';

export interface SandboxSettings {
  /** A backend's name, or `auto`. */
  backend: string;
  imageFor(kind: string): string | undefined;
  idleSeconds: number;
  backgroundSeconds: number;
}

/** The options of one backend in the configuration. */
export function backendOptions({ options }: BackendDriver, { terminal }: Config): Record<string, unknown> {
  return Object.fromEntries(Object.entries(terminal).filter(([key]) => key in options.shape));
}

/** Security: access to one of them is access to this machine. */
export function engineSockets({ config, environment }: LoadedConfig): string[] {
  return backendDrivers.flatMap((driver) => driver.engineSockets?.(backendOptions(driver, config), environment) ?? []);
}

/** The one place where `gateway.*` overrides `terminal.*`, and only for messaging sessions. */
export function sandboxSettings(config: Config, audience: Audience): SandboxSettings {
  const { terminal, gateway } = config;
  const configured = (kind: string): string | undefined => {
    const driver = backendDrivers.find((one) => one.kind === kind);
    return driver?.image?.(backendOptions(driver, config));
  };
  if (audience === 'cli') {
    return { backend: terminal.backend, imageFor: configured, idleSeconds: terminal.lifetime_seconds, backgroundSeconds: 0 };
  }
  return {
    backend: gateway.terminal_backend ?? terminal.backend,
    imageFor: (kind) => gateway.sandbox_image ?? configured(kind),
    idleSeconds: gateway.sandbox_lifetime,
    backgroundSeconds: gateway.background_lifetime,
  };
}
