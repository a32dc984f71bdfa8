import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Body } from './model-bodies.ts';
import { type Finish, type Protocol, protocols, type ScriptedUsage, type SeenMessage } from './model-protocols.ts';
import { rules, textFlaw } from './model-rules.ts';

/** What an answer is made of, in order. */
type Piece =
  | { text: string }
  | { think: string }
  /** A text is sent as it is, JSON or not. `half` stops in the middle of the arguments. */
  | { call: string; input: unknown; id?: string; half?: boolean }
  /** Sends nothing until this is settled, or the other side is gone. */
  | { until: Promise<unknown> }
  | { pauseMs: number }
  /** `socket`: the connection breaks. `end`: the answer ends as if it were complete, without saying so. Nothing comes after it. */
  | { cut: 'socket' | 'end' }
  /** The provider fails in the middle of an answer. Nothing comes after it. */
  | { error: string };

export type Reply =
  | { pieces: readonly Piece[]; usage?: ScriptedUsage; finish?: Finish }
  | { status: number; message?: string; headers?: Readonly<Record<string, string>> };

export interface ModelRequest {
  /** Counts from 0. */
  readonly index: number;
  /** When the last byte of it was there, as `performance.now()` says it. */
  readonly receivedAt: number;
  readonly protocol: Protocol['name'];
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Body;
  /** Bytes of the body. */
  readonly bytes: number;
  /** The same for every protocol. */
  readonly messages: readonly SeenMessage[];
  /** The last message. */
  readonly last: SeenMessage;
  /** Names of the tools on offer. */
  readonly tools: readonly string[];
  /** Resolves when the other side goes away before the answer is complete. */
  readonly disconnected: Promise<void>;
}

export type Script = (request: ModelRequest) => Reply | Promise<Reply>;

export interface ModelServer extends AsyncDisposable {
  /** The base URL for `openai-compatible`, `anthropic`, `openai`, `openrouter` and `ollama`; the same with `beta` for `google`. */
  readonly url: string;
  readonly requests: readonly ModelRequest[];
  script: Script;
  /** Drops the requests so far. Their numbers are not given again. */
  forget(): void;
  close(): Promise<void>;
}

/** Says it in as many pieces as are given. */
export const says = (...texts: string[]): Reply => ({ pieces: texts.map((text) => ({ text })) });

/** Calls tools, all at once. */
export const calls = (...tools: [name: string, input: unknown][]): Reply => ({
  pieces: tools.map(([call, input]) => ({ call, input })),
});

/** Refuses the request. */
export const refuses = (status: number, message = 'scripted failure', headers: Record<string, string> = {}): Reply => ({
  status,
  message,
  headers,
});

/** One reply after the other; the last one again and again. */
export const inTurn = (...replies: Reply[]): Script => {
  let next = 0;
  return () => replies[Math.min(next++, replies.length - 1)] as Reply;
};

/**
 * A provider of models on a port of this machine, which answers as the script says. It speaks whatever protocol it is asked in, and refuses what a
 * strict provider would refuse before the script hears of it.
 */
export async function startModelServer(script: Script): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  let requestCount = 0;
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined);
    });
  });

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = incoming.url ?? '/';
    const protocol = protocols.find((each) => each.matches(path.split('?')[0] ?? path));
    const text = await readAll(incoming);
    const receivedAt = performance.now();
    if (!protocol) {
      response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message: 'no such path' } }));
      return;
    }
    const body: Body = JSON.parse(text);
    const messages = protocol.seen(body);
    const { promise: disconnected, resolve: disconnect } = Promise.withResolvers<void>();
    response.once('close', () => {
      if (!response.writableFinished) disconnect();
    });
    const seen: ModelRequest = {
      index: requestCount++,
      receivedAt,
      protocol: protocol.name,
      path,
      headers: incoming.headers,
      body,
      bytes: Buffer.byteLength(text),
      messages,
      last: messages.at(-1) ?? { role: 'user', text: '', calls: [] },
      tools: toolNames(body),
      disconnected,
    };
    requests.push(seen);
    const flaw = textFlaw(body) ?? rules[protocol.name]?.(body);
    const reply = flaw ? refuses(400, flaw) : await Promise.race([modelServer.script(seen), disconnected.then(() => undefined)]);
    if (!reply) return;
    if ('status' in reply) {
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
      response.end(JSON.stringify(protocol.failure(reply.status, reply.message ?? 'scripted failure')));
      return;
    }
    await stream(protocol, seen, reply, response);
  }

  const modelServer: ModelServer = {
    url: '',
    requests,
    script,
    forget() {
      requests.length = 0;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
    async [Symbol.asyncDispose]() {
      await this.close();
    },
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(modelServer, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
}

async function stream(
  protocol: Protocol,
  request: ModelRequest,
  reply: Extract<Reply, { pieces: readonly Piece[] }>,
  response: ServerResponse,
): Promise<void> {
  const encoder = protocol.encoder(request.body.model ?? 'scripted');
  const send = (events: readonly string[]) => {
    for (const event of events) response.write(event);
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  send(encoder.begin());
  let callCount = 0;
  for (const piece of reply.pieces) {
    if ('text' in piece) send(encoder.text(piece.text));
    else if ('think' in piece) send(encoder.think(piece.think));
    else if ('call' in piece) {
      const input = typeof piece.input === 'string' ? piece.input : JSON.stringify(piece.input);
      const events = encoder.call(piece.id ?? `call_${request.index}_${callCount++}`, piece.call, input);
      send(piece.half ? events.slice(0, 2) : events);
    } else if ('until' in piece) await Promise.race([piece.until, request.disconnected]);
    else if ('pauseMs' in piece) await Promise.race([delay(piece.pauseMs), request.disconnected]);
    else if ('error' in piece) {
      send(encoder.error(piece.error));
      response.end();
      return;
    } else {
      // What was written so far must arrive before the end of it does.
      await new Promise((resolve) => response.write(': \n\n', resolve));
      if (piece.cut === 'socket') response.destroy();
      else response.end();
      return;
    }
  }
  const finish = reply.finish ?? (reply.pieces.some((piece) => 'call' in piece) ? 'tool-calls' : 'stop');
  send(encoder.end(finish, { input: 100, output: 10, cached: 0, written: 0, ...reply.usage }));
  response.end();
}

function toolNames({ tools = [] }: Body): string[] {
  return tools.flatMap((tool) => tool.function?.name ?? tool.name ?? tool.functionDeclarations?.map(({ name }) => name) ?? []);
}

async function readAll(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
