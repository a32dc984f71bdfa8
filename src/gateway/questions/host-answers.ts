import { type HostGrant, hostGrants, revokeHosts } from '../../approval/host-grants.ts';
import { unlistedHostRule } from '../../approval/unlisted-hosts.ts';
import type { HostRule } from '../../core/egress.ts';
import { everyone, type GrantLedger, type QuestionEntry } from '../../core/store.ts';
import { matches } from '../../egress/rules.ts';
import type { Role } from '../access.ts';

/** A person who asks in a session. */
export interface HostViewer {
  parts: readonly string[];
  person: string;
  role: Role;
}

/**
 * The grants for hosts that count here for this person, and those that they gave. Security: grants of other people are for admins, and never from
 * other sessions.
 */
export async function hostGrantsFor(ledger: Pick<GrantLedger, 'list'>, { parts, person, role }: HostViewer): Promise<HostGrant[]> {
  const session = JSON.stringify(parts);
  return (await hostGrants(ledger, new Date())).filter(({ grant }) => {
    if (grant.person === person || grant.grantedBy === person) return grant.scope === 'always' || JSON.stringify(grant.parts) === session;
    return grant.scope === 'session' && JSON.stringify(grant.parts) === session && (role === 'admin' || grant.person === everyone);
  });
}

/** Resolves with what was revoked. Security: people take back what is for them or from them; admins also what counts in this session. */
export async function forgetHost(ledger: Pick<GrantLedger, 'list' | 'revoke'>, rule: HostRule, viewer: HostViewer): Promise<HostGrant[]> {
  const { person, role } = viewer;
  const own = ({ grant }: HostGrant): boolean => role === 'admin' || grant.person === person || grant.grantedBy === person;
  const meant = (await hostGrantsFor(ledger, viewer)).filter((one) => matches(rule, one) && own(one));
  return await revokeHosts(ledger, meant, person);
}

/** The hosts that a question is about; none when it is about something else. */
export function hostsIn({ findings }: Pick<QuestionEntry, 'findings'>): string[] {
  return findings.flatMap(({ rule, program }) => (rule === unlistedHostRule && program !== undefined ? [program] : []));
}
