import { discordHarness } from '../channels/discord/harness.ts';
import { flowContract } from '../contracts/channel-flow.ts';

flowContract('Discord', discordHarness, { buttons: true, sendsOncePerKey: true, fileMebibytes: 10 });
