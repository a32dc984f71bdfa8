import { describe } from 'vitest';
import { channelContract } from '../../contracts/channel.ts';
import { whatsAppCloudHarness } from './harness.ts';

describe('WhatsApp Cloud', () => channelContract(whatsAppCloudHarness));
