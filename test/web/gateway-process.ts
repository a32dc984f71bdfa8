import { TestGateway } from '../http/gateway.ts';
import { scripted } from './scripted.ts';

/** A gateway in a process of its own, so that it can be killed. */
const [home = '', port = '0'] = process.argv.slice(2);
const gateway = await TestGateway.start({ home, port: Number(port), handle: scripted });
process.stdout.write(`${JSON.stringify({ port: gateway.server.port, link: gateway.server.newLink() })}\n`);
