import type { Channel } from '../core/channel.ts';
import type { Driver } from '../core/driver.ts';
import type { ChannelContext } from './context.ts';
import { telegram } from './telegram/index.ts';

/** Every chat platform. */
export const channelDrivers: readonly Driver<ChannelContext, Channel>[] = [telegram];
