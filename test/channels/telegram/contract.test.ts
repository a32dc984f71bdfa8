import { describe } from 'vitest';
import { channelContract } from '../../contracts/channel.ts';
import { telegramHarness } from './harness.ts';

describe('Telegram', () => channelContract(telegramHarness));
