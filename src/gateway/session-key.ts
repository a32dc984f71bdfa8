import type { Incoming } from '../core/channel.ts';
import type { SessionKey } from '../core/session.ts';

export interface SharingSettings {
  /** Whether people in a group have a session each or one together. */
  groups: 'per_user' | 'shared';
  threads: 'per_user' | 'shared';
}

/** Whose conversation something is part of. */
export function sessionKeyOf({ place, from, ...rest }: Incoming, { groups, threads }: SharingSettings): SessionKey {
  // A button is pressed where its message is; whether others can see that does not matter.
  const isDirect = rest.kind === 'message' && rest.isDirect;
  const sharing = place.thread === undefined ? groups : threads;
  return { ...place, user: isDirect || sharing === 'per_user' ? from.id : undefined };
}

/** What names a session in the store: a structure, in which a part that is missing differs from every part that is there. */
export function sessionParts({ platform, workspace, chat, thread, user }: SessionKey): string[] {
  const optional = (part: string | undefined): string => JSON.stringify(part ?? null);
  return ['session', platform, optional(workspace), chat, optional(thread), optional(user)];
}

/** The same parts for people to read, without those that are missing. */
export function sessionPartsText(parts: readonly string[]): string {
  if (parts[0] !== 'session') return parts.join(' ');
  const [, platform, workspace, chat, thread, user] = parts;
  const optional = (part: string | undefined): unknown => (part === undefined ? null : JSON.parse(part));
  return [platform, optional(workspace), chat, optional(thread), optional(user)].filter((part) => part != null).join(' ');
}
