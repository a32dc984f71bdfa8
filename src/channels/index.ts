import { discord } from './discord/index.ts';
import type { ChannelDriver } from './driver.ts';
import { signal } from './signal/index.ts';
import { slack } from './slack/index.ts';
import { telegram } from './telegram/index.ts';
import { whatsapp } from './whatsapp/index.ts';
import { whatsAppCloud } from './whatsapp-cloud/index.ts';

/**
 * Every chat platform. The page (`web/`) and the terminal (`terminal/`) are not in the list: the gateway makes them of its own database and
 * socket, not of a token, and they have no access rules.
 */
export const channelDrivers = [telegram, discord, slack, whatsapp, whatsAppCloud, signal] as const satisfies readonly ChannelDriver[];
