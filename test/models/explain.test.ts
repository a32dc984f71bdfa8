import { describe, expect, it } from 'vitest';
import { explain } from '../../src/models/explain.ts';

const asked = { title: 'Acme', model: 'm', baseUrl: 'http://acme.example/v1', keyVariable: 'ACME_KEY', apiKey: 'sk-acme' };
const failure = (fields: object) => explain(Object.assign(new Error('no luck'), fields), asked);

describe('retry-after', () => {
  it.each([
    [{ 'retry-after': '7' }, '', 7000],
    [{ 'retry-after-ms': '250', 'retry-after': '1' }, '', 250],
    [{}, '{"error":{"details":[{"retryDelay": "34s"}]}}', 34_000],
    [{ 'retry-after': 'soon' }, '', undefined],
    [{}, '', undefined],
  ])('reads the retry delay of %j %s', (responseHeaders, responseBody, retryAfterMs) => {
    expect(failure({ statusCode: 429, responseHeaders, responseBody })).toMatchObject({ isTransient: true, retryAfterMs });
  });

  it('reads a retry-after date', () => {
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
    const { retryAfterMs = 0 } = failure({ statusCode: 503, responseHeaders: { 'retry-after': inAnHour } });
    expect(Math.round(retryAfterMs / 60_000)).toBeGreaterThanOrEqual(59);
  });
});

describe('refusals of a provider', () => {
  it.each([
    [400, "This model's maximum context length is 8192 tokens"],
    [400, 'prompt is too long: 210000 tokens > 200000 maximum'],
    [413, 'Request Entity Too Large'],
    [400, 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'],
    [500, 'the request exceeds the available context size, try increasing it'],
  ])('recognises a refusal of a conversation that is too long: %i %s', (statusCode, message) => {
    expect(failure({ statusCode, message })).toMatchObject({ about: 'too-long', isTransient: false });
  });

  it.each([
    [400, 'messages.1.content.0: Invalid `signature` in `thinking` block'],
    [400, 'Expected `thinking` or `redacted_thinking`, but found `tool_use`'],
    [400, "Item 'rs_68af' of type 'reasoning' was provided without its required following item."],
    [404, "Item with id 'rs_68af' not found."],
    [400, 'The encrypted content gAAA could not be verified.'],
    [400, 'Thought signature is not valid'],
    [400, "'messages.2' : for 'role:assistant' the following must be satisfied: property 'reasoning_content' is unsupported"],
    [400, 'messages.1.reasoning_details: Extra inputs are not permitted'],
    [400, '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.'],
    [undefined, 'messages.1.content.0: Invalid `signature` in `thinking` block'],
    [400, 'Function call is missing a thought_signature in functionCall parts.'],
  ])('recognises a refusal of thoughts: %i %s', (statusCode, message) => {
    expect(failure({ statusCode, message })).toMatchObject({ about: 'thoughts', isTransient: false });
  });

  it.each([
    [400, 'The `reasoning_content` in the thinking mode must be passed back to the API.'],
    [400, 'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2'],
  ])('recognises that thoughts are missing: %i %s', (statusCode, message) => {
    expect(failure({ statusCode, message })).toMatchObject({ about: 'missing-thoughts', isTransient: false });
  });

  it.each([
    [400, 'This model has a maximum context length of 8192 tokens. {"input": "a reasoning item"}', 'too-long'],
    [404, 'Unknown model; expected one of: x-thinking', undefined],
    [400, 'expected boolean for enable_thinking', undefined],
  ])('takes no other refusal for one of thoughts: %i %s', (statusCode, message, about) => {
    expect(failure({ statusCode, message }).about).toBe(about);
  });

  it('does not retry after a refusal for lack of money', () => {
    expect(
      failure({ statusCode: 429, message: 'You exceeded your current quota', data: { error: { code: 'insufficient_quota' } } }),
    ).toMatchObject({
      code: 'model/unusable',
      isTransient: false,
    });
  });

  it('explains a refusal on one short line without the key', () => {
    const { message } = failure({ statusCode: 401, message: `bad key sk-acme\n\u001b[31m${'x'.repeat(1000)}` });
    expect(message).not.toMatch(/sk-acme|\p{Cc}/u);
    expect(message.length).toBeLessThan(400);
  });

  it.each([undefined, null, 'text', 7, {}, new Error(''), Object.create(null)])('explains any error: %s', (error) => {
    expect(explain(error, asked)).toMatchObject({ code: 'model/failed', message: expect.stringMatching(/^\S.*Acme|^Acme/) });
  });
});
