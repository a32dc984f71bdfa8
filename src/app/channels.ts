import type { ChannelContext } from '../channels/context.ts';
import type { ChannelDriver } from '../channels/driver.ts';
import { channelDrivers } from '../channels/index.ts';
import { throwProblems } from '../config/explain.ts';
import type { LoadedConfig } from '../config/load.ts';
import { type Config, platformSections } from '../config/schema.ts';
import type { Channel, Person } from '../core/channel.ts';
import { HermeticError } from '../core/errors.ts';
import type { PlatformRules } from '../gateway/access.ts';
import { chatCommands } from '../gateway/commands/index.ts';

/** Channels to the enabled platforms. Throws when one of them is not available. */
export function platformChannels(
  { config, environment, warnings }: LoadedConfig,
  log: (sentence: string) => void,
  keptFor?: (kind: string) => Pick<ChannelContext, 'deliveries' | 'notes'>,
): Channel[] {
  throwProblems(warnings.filter(({ code }) => code === 'config/bad-value'));
  const sections = platformSections(config);
  const drivers: readonly ChannelDriver[] = channelDrivers;
  return drivers.flatMap((driver) => {
    const { kind } = driver;
    const options = sections.get(kind);
    if (!options?.enabled) return [];
    const secrets = secretsOf(driver, options, environment);
    const secret = (option: string): string => secrets.get(option) ?? '';
    return [driver.create({ secret, commands: chatCommands, log, ...keptFor?.(kind) }, options)];
  });
}

/** The secrets of a platform by the options that name their variables. Throws when one is missing. */
function secretsOf({ kind, secrets }: ChannelDriver, options: object, environment: LoadedConfig['environment']): Map<string, string> {
  const variables = new Map(Object.entries(options) as [string, unknown][]);
  return new Map(
    secrets.map((option) => {
      const variable = String(variables.get(option));
      const value = environment[variable];
      if (value) return [option, value];
      throw new HermeticError('config/bad-value', `${kind} is enabled, but ${variable} (${kind}.${option}) is not set.`, {
        hint: `Put it into .env, or set ${kind}.enabled to false.`,
      });
    }),
  );
}

/** The person who has the token of the page, or sits at the terminal. */
export const owner: Person = { id: 'owner', name: 'Owner' };

const ownRules: PlatformRules = {
  isOwn: true,
  allowedUsers: [],
  allowedRoles: [],
  admins: [owner.id],
  allowAll: false,
  requireMention: false,
};

/** The rules of a platform: undefined, so that no one may talk, when it is neither our own nor configured. */
export function platformRules(config: Config, platform: string, channel: Channel | undefined): PlatformRules | undefined {
  if (channel?.traits.isOwn) return ownRules;
  const section = platformSections(config).get(platform);
  if (!section) return undefined;
  const { allowed_users: own, admins, allow_all: allowAll, require_mention: requireMention } = section;
  const everywhere = config.gateway.allowed_users
    .filter((user) => user.startsWith(`${platform}:`))
    .map((user) => user.slice(platform.length + 1));
  const allowedRoles = 'allowed_roles' in section ? (section.allowed_roles as string[]) : [];
  return { isOwn: false, allowedUsers: [...own, ...everywhere], allowedRoles, admins, allowAll, requireMention };
}
