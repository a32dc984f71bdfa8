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

/** The one place where `gateway.*` overrides `terminal.*`, and only for messaging sessions. */
export function sandboxSettings({ terminal, gateway }: Config, audience: Audience): SandboxSettings {
  const configured = (kind: string): string | undefined => {
    const value = (terminal as Record<string, unknown>)[`${kind}_image`];
    return typeof value === 'string' ? value : undefined;
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
