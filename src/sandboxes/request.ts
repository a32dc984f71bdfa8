import { createHash } from 'node:crypto';
import type { Audience } from '../config/sandbox-settings.ts';
import { optionalPart, type SessionKey, sessionId, sessionPartsText } from '../core/session.ts';

export interface SandboxRequest {
  audience: Audience;
  /** Its name is derived from these: parts, never joined text. None for a spare, which belongs to no session yet. */
  parts: readonly string[];
  /** Its name for people. */
  title: string;
  /** Instead of the configured one. */
  backend?: string | undefined;
  /** Instead of the backend's configured image. */
  image?: string | undefined;
  /** The program that opens it destroys it. When the program dies before that, the next sweep removes the files. */
  isEphemeral?: boolean;
  /** @deprecated The old name of `isEphemeral`. */
  isPassing?: boolean;
}

type SessionRequest = Pick<SandboxRequest, 'audience' | 'parts' | 'title'>;

/** The sandbox of a session that is named on the command line. */
export function cliSession(name: string): SessionRequest {
  return { audience: 'cli', parts: ['cli', name], title: name };
}

/** The sandbox of a session that a program names, which is no conversation and not one of the command line. */
export function namedSession(name: string): SessionRequest {
  return { audience: 'messaging', parts: ['named', name], title: name };
}

/** The sandbox of a conversation, as far as it is shared by `gateway.sandbox_scope`. */
export function messagingSession(key: SessionKey, scope: SandboxScope): SessionRequest {
  return { audience: 'messaging', parts: sandboxParts(key, scope), title: sessionPartsText(sessionId(key).parts) };
}

/** Which sessions share a sandbox. */
type SandboxScope = 'session' | 'user' | 'chat' | 'shared';

/** A missing part differs from every part that is there. A session without a single user shares by chat where it would share by user. */
function sandboxParts(key: SessionKey, scope: SandboxScope): readonly string[] {
  const { platform, workspace, chat, user } = key;
  switch (scope) {
    case 'session':
      return sessionId(key).parts;
    case 'user':
      return user === undefined ? sandboxParts(key, 'chat') : ['user', platform, optionalPart(workspace), user];
    case 'chat':
      return ['chat', platform, optionalPart(workspace), chat];
    case 'shared':
      return ['shared'];
  }
}

/**
 * The name of a session's sandbox. Security: people choose the names of sessions, and some are hostile. The parts are hashed as a structure, so
 * that no two sessions and no two installations share a name, and nothing a person chose ends up in a path, a label or a host name.
 */
export function sandboxName(installation: string, parts: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([installation, ...parts]))
    .digest('hex')
    .slice(0, 24);
}
