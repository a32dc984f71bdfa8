import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { sendRequest } from '../../src/lib/send-request.ts';

/** Aborts requests just when their answers end, a little later each time, then reads one more answer. */
const agent = new http.Agent({ keepAlive: true });
const server = http.createServer((_, response) => {
  response.write('first');
  setImmediate(() => response.end('last'));
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;

async function ask(onLast: (controller: AbortController) => unknown): Promise<string> {
  const controller = new AbortController();
  let text = '';
  for await (const chunk of await sendRequest(http.request({ host: '127.0.0.1', port, agent, signal: controller.signal }))) {
    text += chunk;
    if (text === 'firstlast') await onLast(controller);
  }
  return text;
}

for (let laterBy = 0; laterBy < 12; laterBy++) {
  await ask(async (controller) => {
    for (let step = 0; step < laterBy; step++) await undefined;
    controller.abort();
  }).catch(() => undefined);
}
console.log(await ask(() => undefined));
agent.destroy();
server.close();
