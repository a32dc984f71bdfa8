import { whatsappFlowHarness } from '../channels/whatsapp/harness.ts';
import { flowContract } from '../contracts/channel-flow.ts';

flowContract('WhatsApp', whatsappFlowHarness, { buttons: false, sendsOncePerKey: true });
