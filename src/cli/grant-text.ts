import type { HostGrant } from '../approval/host-grants.ts';
import { destinationText } from '../core/egress.ts';
import { everyone, type GrantEntry } from '../core/store.ts';
import { visible } from '../lib/visible.ts';

const maxCharacters = 60;

/** Security: text of others, on one line. */
export function shortText(text: string, max = maxCharacters): string {
  return visible(text).replaceAll(/\s+/g, ' ').slice(0, max);
}

/** Where a grant holds, and for whom. */
export function grantScope({ scope, session, person }: Pick<GrantEntry, 'scope' | 'session' | 'person'>): string {
  const who = person === everyone ? 'everyone' : (person ?? 'this machine');
  return scope === 'always' ? `always, for ${shortText(who)}` : `session ${shortText(session)}, for ${shortText(who)}`;
}

export function minuteText(time: Date): string {
  return time.toISOString().slice(0, 16).replace('T', ' ');
}

/** A grant in one line. */
export function grantText(one: HostGrant): string {
  return `the grant for ${destinationText(one)} (${grantScope(one.grant)}, given by ${shortText(one.grant.grantedBy)})`;
}
