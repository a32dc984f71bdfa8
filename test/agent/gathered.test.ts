import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import { afterEach, expect, it } from 'vitest';
import { gathered } from '../../src/agent/gathered.ts';
import { type ModelServer, type Reply, startModelServer } from '../fakes/model-server.ts';

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** Every part of an answer, as the agent gets it. */
async function parts(reply: Reply): Promise<{ type: string; text?: string; delta?: string }[]> {
  const server = await startModelServer(() => reply);
  servers.push(server);
  const model = await gathered(createOpenAICompatible({ name: 'fake', baseURL: server.url })('scripted'));
  const found: { type: string; text?: string; delta?: string }[] = [];
  for await (const part of streamText({ model, prompt: 'Hello.', maxRetries: 0, onError: () => undefined }).stream) found.push(part);
  return found;
}

const textsOf = (found: readonly { type: string; text?: string }[], type: string): string[] =>
  found.flatMap((part) => (part.type === type ? [part.text ?? ''] : []));

it('joins many small pieces of an answer, keeps their order and loses nothing', async () => {
  const words = Array.from({ length: 500 }, (_, index) => `word ${index} `);
  const found = await parts({ pieces: [{ think: 'Let me see. ' }, { think: 'I know.' }, ...words.map((text) => ({ text }))] });
  const thoughts = textsOf(found, 'reasoning-delta');
  const texts = textsOf(found, 'text-delta');
  expect(texts.join('')).toBe(words.join(''));
  expect(texts.length).toBeLessThan(words.length / 5);
  expect([thoughts[0], thoughts.join('')]).toEqual(['Let me see. ', 'Let me see. I know.']);
  expect(found.findLastIndex(({ type }) => type === 'reasoning-delta')).toBeLessThan(found.findIndex(({ type }) => type === 'text-delta'));
});

it('hands on what has come while nothing more comes', async () => {
  const more = Promise.withResolvers<void>();
  const server = await startModelServer(() => ({
    pieces: [{ text: 'one ' }, { text: 'two' }, { until: more.promise }, { text: ' three' }],
  }));
  servers.push(server);
  const model = await gathered(createOpenAICompatible({ name: 'fake', baseURL: server.url })('scripted'));
  let text = '';
  for await (const part of streamText({ model, prompt: 'Hello.', maxRetries: 0 }).stream) {
    if (part.type !== 'text-delta') continue;
    text += part.text;
    if (text === 'one two') more.resolve();
  }
  expect(text).toBe('one two three');
});
