import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Site } from './registries.ts';

const megabyte = Buffer.alloc(1024 * 1024, 'x');

/** The site of every host that has none of its own. */
export const echoSite: Site = (request, response, path) => {
  const { host } = request.headers;
  if (path === '/echo') {
    void text(request).then((body) => response.end(JSON.stringify({ method: request.method, headers: request.headers, body })));
  } else if (path === '/upload') {
    let bytes = 0;
    request.on('data', (data: Buffer) => (bytes += data.length));
    request.on('end', () => response.end(`${bytes} bytes\n`));
  } else if (path.startsWith('/megabytes/')) {
    sendMegabytes(response, Number(path.slice('/megabytes/'.length)));
  } else if (path === '/chunked') {
    for (const word of ['one', 'two', 'three']) response.write(`${word}\n`);
    response.end();
  } else if (path === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let count = 0;
    const timer = setInterval(() => {
      response.write(`data: event ${++count}\n\n`);
      if (count === 3) response.end();
    }, 50);
    response.on('close', () => clearInterval(timer));
  } else if (path === '/redirect') {
    response.writeHead(302, { location: new URL(request.url ?? '', 'http://world').searchParams.get('to') ?? '/' });
    response.end();
  } else if (path === '/hold') {
    // Stays open until one side closes it.
    response.write('held\n');
  } else {
    response.end(`hello from ${host}\n`);
  }
};

function sendMegabytes(response: ServerResponse, count: number): void {
  response.setHeader('content-length', count * megabyte.length);
  let left = count;
  const send = (): void => {
    while (left > 0) {
      left -= 1;
      if (!response.write(megabyte)) return void response.once('drain', send);
    }
    response.end();
  };
  send();
}
