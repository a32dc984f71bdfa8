import type { Audience } from '../config/sandbox-settings.ts';
import type { SessionKey } from '../core/session.ts';
import { type SandboxScope, sandboxParts } from './scope.ts';

export interface SandboxRequest {
  audience: Audience;
  /** What its name is derived from: parts, never joined text. None for a spare, which belongs to nobody yet. */
  parts: readonly string[];
  /** What people call it. */
  title: string;
  /** Instead of the configured one. */
  backend?: string | undefined;
  /** Instead of the backend's configured image. */
  image?: string | undefined;
  /** Whoever opens it destroys it, and nobody comes back for its files: when that program dies before, they go with the next sweep. */
  isPassing?: boolean;
}

/** The sandbox of a session somebody names on the command line. */
export function cliSession(name: string): Pick<SandboxRequest, 'audience' | 'parts' | 'title'> {
  return { audience: 'cli', parts: ['cli', name], title: name };
}

/** The sandbox of a session that a program names, which is no conversation and not one of the command line. */
export function namedSession(name: string): Pick<SandboxRequest, 'audience' | 'parts' | 'title'> {
  return { audience: 'messaging', parts: ['named', name], title: name };
}

/** The sandbox of a conversation, as far as it is shared by `gateway.sandbox_scope`. */
export function messagingSession(key: SessionKey, scope: SandboxScope): Pick<SandboxRequest, 'audience' | 'parts' | 'title'> {
  const title = [key.platform, key.workspace, key.chat, key.thread, key.user].filter((part) => part !== undefined).join(' ');
  return { audience: 'messaging', parts: sandboxParts(key, scope), title };
}
