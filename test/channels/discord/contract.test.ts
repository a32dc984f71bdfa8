import { describe } from 'vitest';
import { channelContract } from '../../contracts/channel.ts';
import { discordHarness } from './harness.ts';

describe('Discord', () => channelContract(discordHarness));
