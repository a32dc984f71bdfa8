import { signalHarness } from '../channels/signal/harness.ts';
import { flowContract } from '../contracts/channel-flow.ts';

flowContract('Signal', signalHarness, { buttons: false, sendsOncePerKey: false });
