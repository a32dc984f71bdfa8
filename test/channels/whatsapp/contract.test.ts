import { describe } from 'vitest';
import { channelContract } from '../../contracts/channel.ts';
import { whatsappHarness } from './harness.ts';

describe('WhatsApp', () => channelContract(() => whatsappHarness()));
