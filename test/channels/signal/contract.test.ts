import { describe } from 'vitest';
import { channelContract } from '../../contracts/channel.ts';
import { signalHarness } from './harness.ts';

describe('Signal over HTTP', () => channelContract(() => signalHarness()));
describe('Signal over a socket', () => channelContract(() => signalHarness({ over: 'socket' })));
