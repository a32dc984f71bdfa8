import type { Config } from '../../config/schema.ts';
import type { Channel } from '../../core/channel.ts';
import type { PairingLedger } from '../../core/conversation.ts';
import { hermetic } from '../../lib/own-command.ts';
import { printable } from '../../lib/printable.ts';
import { platformRules } from '../channels.ts';

/** Who may talk on one channel, in words. */
export interface Talkers {
  channel: string;
  text: string;
  /** Anyone who finds the bot may talk. */
  isOpen: boolean;
}

const maxNamed = 5;

export async function whoMayTalk(config: Config, channels: Iterable<Channel>, pairing: PairingLedger): Promise<Talkers[]> {
  const paired = await pairing.paired();
  return [...channels].map((channel) => {
    const { kind } = channel;
    const rules = platformRules(config, kind, channel);
    if (!rules) return { channel: kind, text: 'no one: it is not configured', isOpen: false };
    if (rules.isOwn) return { channel: kind, text: 'only you, its owner, as an admin', isOpen: false };
    const people = paired.filter(({ platform }) => platform === kind);
    const groups = [
      group('admin', rules.admins),
      group('allowed user', rules.allowedUsers),
      group('allowed role', rules.allowedRoles),
      group(
        'paired person',
        people.map(({ person, name, role }) => `${name} (${person}${role === 'admin' ? ', admin' : ''})`),
      ),
    ].filter((text) => text !== '');
    if (rules.allowAll) {
      const also = groups.length > 0 ? `; ${groups.join('; ')}` : '';
      return { channel: kind, text: `EVERYONE who finds the bot (${kind}.allow_all)${also}`, isOpen: true };
    }
    const none = `no one until you let them in: a direct message gets a code for ${hermetic} pairing approve CODE`;
    return { channel: kind, text: groups.length > 0 ? groups.join('; ') : none, isOpen: false };
  });
}

/** `2 admins: 1, 2`; empty when there is none. Names are what people call themselves. */
function group(what: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, maxNamed).map(printable).join(', ');
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : '';
  const plural = what === 'paired person' ? 'paired people' : `${what}s`;
  return `${names.length} ${names.length === 1 ? what : plural}: ${shown}${more}`;
}
