import type { Channel, Place } from '../../core/channel.ts';
import type { HeardPlace, PeopleLedger } from '../../core/conversation.ts';
import type { Access } from '../access.ts';

/** A person who may answer a question, and where to ask. */
export interface ReachableApprover {
  /** As in `telegram:4711`. */
  person: string;
  /** The name they chose for themselves. */
  name: string;
  place: Place;
}

export interface ApproverSearchOptions {
  /** `approvals.approvers`. */
  approvers(): readonly string[];
  access: Access;
  people: PeopleLedger;
  channels: ReadonlyMap<string, Channel>;
}

/** A person takes part in a group for so long after their last message there. */
const takesPartMs = 7 * 24 * 60 * 60 * 1000;

/** Finds the people who may answer what someone asks for. */
export class ApproverSearch {
  readonly #options: ApproverSearchOptions;

  constructor(options: ApproverSearchOptions) {
    this.#options = options;
  }

  /** Those who can be reached; only the asker when they may answer themselves. */
  async find(asker: { person: string; name: string }, place: Place): Promise<ReachableApprover[]> {
    const { approvers } = this.#options;
    const names = approvers();
    const own = { person: asker.person, name: asker.name, place };
    if (names.length === 0) return [own];
    const people = await this.#people(names);
    if (people.has(asker.person)) return [own];
    const found = await Promise.all([...people.values()].map(({ platform, id }) => this.#reach(platform, id, place)));
    return found.filter((one) => one !== undefined);
  }

  async #people(names: readonly string[]): Promise<Map<string, { platform: string; id: string }>> {
    const { access, channels } = this.#options;
    const people = new Map<string, { platform: string; id: string }>();
    const add = (platform: string, id: string): void => void people.set(`${platform}:${id}`, { platform, id });
    for (const name of names.filter((one) => one !== 'admins')) {
      const colon = name.indexOf(':');
      if (colon > 0) add(name.slice(0, colon), name.slice(colon + 1));
    }
    if (!names.includes('admins')) return people;
    for (const platform of channels.keys()) for (const id of await access.admins(platform)) add(platform, id);
    return people;
  }

  async #reach(platform: string, id: string, asked: Place): Promise<ReachableApprover | undefined> {
    const { access, channels, people } = this.#options;
    const channel = channels.get(platform);
    // Security: a person who lost the right to talk is not asked.
    if (!channel || (await access.roleOf(platform, { id })) === undefined) return undefined;
    // A place that can show nothing now, such as a terminal that was left, reaches no one.
    const isThere = (place: Place): boolean => !channel.traitsAt || channel.traitsAt(place) !== undefined;
    const heard = (await people.placesOf(platform, id)).filter(({ place }) => isThere(place));
    const here = heard.find((one) => !one.isDirect && isSameChat(one.place, asked));
    const direct = heard.find(({ isDirect }) => isDirect)?.place ?? channel.directPlace?.(id);
    const place = here && isRecent(here) ? asked : (direct ?? (here && asked));
    return place && { person: `${platform}:${id}`, name: heard[0]?.name ?? id, place };
  }
}

function isRecent({ at }: HeardPlace): boolean {
  return Date.now() - at.getTime() < takesPartMs;
}

function isSameChat(one: Place, other: Place): boolean {
  return one.platform === other.platform && one.workspace === other.workspace && one.chat === other.chat;
}
