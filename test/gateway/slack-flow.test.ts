import { slackHarness } from '../channels/slack/harness.ts';
import { flowContract } from '../contracts/channel-flow.ts';

flowContract('Slack', slackHarness, { buttons: true, sendsOncePerKey: false, commandSign: '!' });
