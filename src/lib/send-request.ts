import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Sends a request; resolves with the beginning of its answer. A caller may abort the request at any moment, and leave the answer unread.
 */
export async function sendRequest(request: ClientRequest, body?: string | Uint8Array): Promise<IncomingMessage> {
  return await new Promise((resolve, reject) => {
    request.on('socket', ignoreErrorsOf);
    request.on('response', (response) => resolve(response.on('error', ignore)));
    request.on('error', reject);
    request.end(body);
  });
}

/**
 * Node removes its own listener from a kept connection when the answer ends. An abort in the same moment destroys the connection with an error
 * that has no listener then, which ends the program.
 */
function ignoreErrorsOf(socket: Socket): void {
  if (!socket.listeners('error').includes(ignore)) socket.on('error', ignore);
}

const ignore = (): void => undefined;
