import type { Incoming, Person } from '../core/channel.ts';
import type { PairingLedger } from '../core/conversation.ts';
import { shortCode } from '../lib/short-code.ts';

export type Role = 'admin' | 'user';

/** Who may talk on one platform. */
export interface PlatformRules {
  /** The channel is the owner's own: everyone who reaches it is the owner. */
  isOwn: boolean;
  allowedUsers: readonly string[];
  /** Of servers; whoever has one may talk where it was given. */
  allowedRoles: readonly string[];
  admins: readonly string[];
  allowAll: boolean;
  requireMention: boolean;
}

/** The rules in force now; undefined for a platform without a section in the configuration, where no one may talk. */
type RulesOf = (platform: string) => PlatformRules | undefined | Promise<PlatformRules | undefined>;

export type Admission =
  | { kind: 'admitted'; role: Role }
  /** A stranger in a direct message, who is given this code once. */
  | { kind: 'stranger'; code: string | undefined }
  /** Without a reply. */
  | { kind: 'ignored' };

const codeLength = 8;
const codeLifeMs = 60 * 60 * 1000;

/** Decides who may talk: people who are allowed by name, paired, or let in by `allow_all`. */
export class Access {
  readonly #rules: RulesOf;
  readonly #pairing: PairingLedger;

  constructor(rules: RulesOf, pairing: PairingLedger) {
    this.#rules = rules;
    this.#pairing = pairing;
  }

  /** undefined for a stranger. Read every time: what was revoked is revoked. */
  async roleOf(platform: string, person: Pick<Person, 'id' | 'roles'>): Promise<Role | undefined> {
    return await this.#roleUnder(await this.#rules(platform), platform, person);
  }

  async #roleUnder(
    rules: PlatformRules | undefined,
    platform: string,
    { id, roles = [] }: Pick<Person, 'id' | 'roles'>,
  ): Promise<Role | undefined> {
    if (!rules) return undefined;
    if (rules.isOwn || rules.admins.includes(id)) return 'admin';
    const paired = await this.#pairing.find(platform, id);
    if (paired) return paired.role;
    const isAllowed = rules.allowAll || rules.allowedUsers.includes(id) || roles.some((role) => rules.allowedRoles.includes(role));
    return isAllowed ? 'user' : undefined;
  }

  /** Everyone on this platform who is an admin by name or by pairing. */
  async admins(platform: string): Promise<string[]> {
    const rules = await this.#rules(platform);
    if (!rules) return [];
    const paired = (await this.#pairing.paired()).filter((one) => one.platform === platform && one.role === 'admin');
    return [...new Set([...rules.admins, ...paired.map(({ person }) => person)])];
  }

  async admit(incoming: Incoming): Promise<Admission> {
    const { place, from } = incoming;
    const rules = await this.#rules(place.platform);
    const role = await this.#roleUnder(rules, place.platform, from);
    if (role === undefined) return await this.#turnAway(incoming);
    const isHeard = incoming.kind === 'press' || incoming.isAddressed || incoming.isDirect || rules?.requireMention === false;
    return isHeard ? { kind: 'admitted', role } : { kind: 'ignored' };
  }

  async #turnAway(incoming: Incoming): Promise<Admission> {
    if (incoming.kind === 'press' || !incoming.isDirect) return { kind: 'ignored' };
    const { place, from, at } = incoming;
    const code = shortCode(codeLength);
    const requestedAt = new Date();
    const expiresAt = new Date(requestedAt.getTime() + codeLifeMs);
    // A message from long ago, when no gateway ran, gets no code now.
    if (requestedAt.getTime() - at.getTime() > codeLifeMs) return { kind: 'ignored' };
    const request = await this.#pairing.request(
      { platform: place.platform, person: from.id, name: from.name, requestedAt, expiresAt },
      code,
    );
    return { kind: 'stranger', code: request && code };
  }
}
