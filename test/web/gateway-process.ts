import { TestGateway } from '../http/gateway.ts';
import { scripted } from './scripted.ts';

export interface Started {
  port: number;
  link: string;
}

/** A gateway in a process of its own, so that it can be killed. */
const [home = '', port = '0'] = process.argv.slice(2);
const gateway = await TestGateway.start({ home, port: Number(port), handle: scripted });
const started: Started = { port: gateway.server.port, link: gateway.server.newLink() };
process.stdout.write(`${JSON.stringify(started)}\n`);
