import * as z from 'zod';
import type { Channel } from '../core/channel.ts';
import type { Driver } from '../core/driver.ts';
import { flag, listOf, markRestart, text, url, variableName } from '../lib/setting-kinds.ts';
import type { ChannelContext } from './context.ts';
import type { ChannelSetup } from './setup.ts';

/** Options of a platform that name variables, each with the variable that is meant when nothing else is said. */
type SecretVariables = Readonly<Record<`${string}_env`, string>>;

type PlatformSchema<Own extends z.ZodRawShape> = z.ZodObject<ReturnType<typeof commonOptions> & Own, z.core.$strict>;
type SecretShape<Secrets extends SecretVariables> = { [Option in keyof Secrets]: z.ZodDefault<ReturnType<typeof variableName>> };

/** The options that every platform has. */
export type PlatformOptions = z.output<PlatformSchema<Record<never, never>>>;

/** A chat platform. Its options are the section of the configuration that is called like its kind. */
export interface ChannelDriver<Options extends z.ZodObject = PlatformSchema<Record<never, never>>>
  extends Driver<ChannelContext, Channel, Options> {
  /** What people call it. */
  readonly name: string;
  /** The options that name variables with secrets. Without all of these it is not available. */
  readonly secrets: readonly string[];
  /** How to connect it; loaded when somebody does. */
  setup(): Promise<ChannelSetup>;
}

/** The section of a platform: what all of them have, the variables of its secrets, and keys of its own. */
export function platformOptions<Secrets extends SecretVariables, Own extends z.ZodRawShape>(
  name: string,
  variables: Secrets,
  own: Own,
): PlatformSchema<SecretShape<Secrets> & Own> {
  const secrets = Object.fromEntries(
    Object.entries(variables).map(([option, variable]) => [option, variableName().default(variable).describe(secretText(option))]),
  ) as SecretShape<Secrets>;
  const common = z.strictObject({ ...commonOptions(name), ...secrets });
  markRestart(common as z.ZodObject, 'enabled', 'api_root', ...Object.keys(variables));
  return z.strictObject({ ...common.shape, ...own }).describe(`${name}.`) as unknown as PlatformSchema<SecretShape<Secrets> & Own>;
}

/** `app_token_env` holds the app token. */
function secretText(option: string): string {
  return `Variable that holds the ${option.replace(/_env$/, '').replaceAll('_', ' ')}.`;
}

function commonOptions(name: string) {
  return {
    enabled: flag().default(false).describe(`Connects to ${name}.`),
    allowed_users: ids().describe('Who may talk without pairing. Empty is no one.'),
    admins: ids().describe('Who may talk and also answer for others, let people in and choose the model.'),
    allow_all: flag().default(false).describe('Lets everybody talk.'),
    require_mention: flag().default(true).describe('In groups, listens only to messages that mention it.'),
    api_root: url().optional().describe("A local server to talk to; unset is the platform's own."),
  };
}

function ids() {
  return listOf(text('an id as text, in quotes'), 'user ids, as text in quotes').default([]);
}
