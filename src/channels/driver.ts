import * as z from 'zod';
import type { Channel } from '../core/channel.ts';
import type { Driver } from '../core/driver.ts';
import { flag, listOf, markRestart, text, url, variableName } from '../lib/setting-kinds.ts';
import type { ChannelContext } from './context.ts';

type PlatformSchema<Own extends z.ZodRawShape> = z.ZodObject<ReturnType<typeof commonOptions> & Own, z.core.$strict>;

/** The options that every platform has. */
export type PlatformOptions = z.output<PlatformSchema<Record<never, never>>>;

/** A chat platform. Its options are the section of the configuration that is called like its kind. */
export type ChannelDriver<Options extends z.ZodObject = PlatformSchema<Record<never, never>>> = Driver<ChannelContext, Channel, Options>;

/** The section of a platform: what all of them have, and keys of its own. */
export function platformOptions<Own extends z.ZodRawShape>(name: string, tokenVariable: string, own: Own): PlatformSchema<Own> {
  const common = z.strictObject(commonOptions(name, tokenVariable));
  markRestart(common, 'enabled', 'token_env', 'api_root');
  return z.strictObject({ ...common.shape, ...own }).describe(`${name}.`);
}

function commonOptions(name: string, tokenVariable: string) {
  return {
    enabled: flag().default(false).describe(`Connects to ${name}.`),
    token_env: variableName().default(tokenVariable).describe('Variable that holds the token.'),
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
