import { whatsAppCloudHarness } from '../channels/whatsapp-cloud/harness.ts';
import { flowContract } from '../contracts/channel-flow.ts';

flowContract('WhatsApp Cloud', whatsAppCloudHarness, { buttons: true, sendsOncePerKey: false, edits: false });
