import { describe } from 'vitest';
import { channelContract } from '../../contracts/channel.ts';
import { slackHarness } from './harness.ts';

describe('Slack', () => channelContract(slackHarness));
