import type { Incoming } from '../../core/channel.ts';
import type { SessionKey } from '../../core/session.ts';

export interface SharingSettings {
  /** Whether people in a group have a session each or one together. */
  groups: 'per_user' | 'shared';
  threads: 'per_user' | 'shared';
}

/** The session a message or a press belongs to. */
export function sessionKeyOf({ place, from, ...rest }: Incoming, { groups, threads }: SharingSettings): SessionKey {
  // A button is pressed where its message is; whether others can see that does not matter.
  const isDirect = rest.kind === 'message' && rest.isDirect;
  const sharing = place.thread === undefined ? groups : threads;
  return { ...place, user: isDirect || sharing === 'per_user' ? from.id : undefined };
}
