import { randomUUID } from 'node:crypto';
import { type Destination, destinationText } from '../core/egress.ts';
import { everyone, type GrantEntry, type GrantLedger } from '../core/store.ts';
import { parseDestination } from '../egress/rules.ts';
import { grantEvent, revocationEvent } from './records.ts';
import { unlistedHost, unlistedHostRule } from './unlisted-hosts.ts';

/** A grant for a host that no rule of the network names. */
export interface HostGrant extends Destination {
  grant: GrantEntry;
}

/** Those in force, the oldest first. */
export async function hostGrants(ledger: Pick<GrantLedger, 'list'>, at: Date): Promise<HostGrant[]> {
  const found = await ledger.list({ rule: unlistedHostRule, inForceAt: at });
  return found.flatMap((grant) => {
    // A grant always has a port.
    const destination = parseDestination(grant.program ?? '', 443);
    return destination ? [{ ...destination, grant }] : [];
  });
}

export interface HostGiving {
  destinations: readonly Destination[];
  session: { parts: readonly string[]; title: string };
  backend: string;
  by: string;
  /** Where they say so, such as `shell`. */
  from: string;
  at: Date;
  expiresAt: Date | undefined;
}

/** Lets everyone in a session reach these hosts. Security: the caller has made sure that `by` may say so. */
export async function giveHosts(ledger: Pick<GrantLedger, 'give'>, giving: HostGiving): Promise<GrantEntry[]> {
  const { session, backend, by, from, at, expiresAt } = giving;
  const grants = giving.destinations.map((destination): GrantEntry => {
    const { rule, title } = unlistedHost(destination);
    return {
      ...{ id: randomUUID(), scope: 'session', parts: session.parts, session: session.title, person: everyone, backend, rule },
      ...{ program: destinationText(destination), digest: undefined, grantedBy: by, grantedAt: at, grantedFrom: from, why: title },
      ...{ question: '', expiresAt, revokedAt: undefined, revokedBy: undefined },
    };
  });
  await ledger.give(grants, grants.map(grantEvent));
  return grants;
}

/** Resolves with those that were still in force. */
export async function revokeHosts(ledger: Pick<GrantLedger, 'revoke'>, grants: readonly HostGrant[], by: string): Promise<HostGrant[]> {
  const revoked: HostGrant[] = [];
  for (const one of grants) {
    const at = new Date();
    if (await ledger.revoke(one.grant.id, by, at, [revocationEvent(one.grant, by, at)])) revoked.push(one);
  }
  return revoked;
}
