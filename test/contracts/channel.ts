import { describe } from 'vitest';
import { arrivingContract } from './channel-arriving.ts';
import { type ChannelHarness, channelRig } from './channel-harness.ts';
import { hostileContract } from './channel-hostile.ts';
import { outageContract } from './channel-outage.ts';
import { sendingContract } from './channel-sending.ts';
import { unstoredContract } from './channel-unstored.ts';

/** Every promise of `src/core/channel.ts`, for any platform. */
export function channelContract(newHarness: () => Promise<ChannelHarness>): void {
  describe('incoming messages', () => arrivingContract(channelRig(newHarness)));
  describe('outgoing messages', () => sendingContract(channelRig(newHarness)));
  describe('outages', () => outageContract(channelRig(newHarness)));
  describe('a database that cannot be written', () => unstoredContract(channelRig(newHarness)));
  describe('hostile text', () => hostileContract(channelRig(newHarness)));
}
