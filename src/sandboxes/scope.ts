import type { SessionKey } from '../core/session.ts';

/** Who shares a sandbox. */
export type SandboxScope = 'session' | 'user' | 'chat' | 'shared';

/**
 * What the name of a sandbox is derived from: a structure, in which a part that is missing differs from every part that is there. A session that
 * has no single user shares by chat where it would share by user.
 */
export function sandboxParts(key: SessionKey, scope: SandboxScope): string[] {
  const { platform, workspace, chat, thread, user } = key;
  const optional = (part: string | undefined): string => JSON.stringify(part ?? null);
  switch (scope) {
    case 'session':
      return ['session', platform, optional(workspace), chat, optional(thread), optional(user)];
    case 'user':
      return user === undefined ? sandboxParts(key, 'chat') : ['user', platform, optional(workspace), user];
    case 'chat':
      return ['chat', platform, optional(workspace), chat];
    case 'shared':
      return ['shared'];
  }
}
