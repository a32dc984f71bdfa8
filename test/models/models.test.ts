import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { HermeticError } from '../../src/core/errors.ts';
import { checkModel } from '../../src/models/check.ts';
import { type ModelSettings, openModel } from '../../src/models/index.ts';
import { startRig } from '../agent/turn-rig.ts';
import { partsOf } from '../fakes/model-bodies.ts';
import { signatureOf } from '../fakes/model-protocols.ts';
import { calls, inTurn, type ModelRequest, refuses, says, startModelServer } from '../fakes/model-server.ts';

const refusalOf = (settings: ModelSettings, variables = {}): Promise<HermeticError> =>
  openModel(settings, variables).then(
    () => expect.unreachable(),
    (error) => error,
  );

describe('model configuration', () => {
  it.each<[ModelSettings, string, string]>([
    [{}, 'No model is configured.', 'Run `hermetic setup`, or set model.provider and model.model.'],
    [
      { provider: 'anthropic' },
      'model.model is not set, so it is unknown which model of anthropic to use.',
      'Run `hermetic setup`, or set model.model.',
    ],
    [
      { provider: 'openai-compatible', model: 'm' },
      'model.base_url is not set, and openai-compatible has no default address.',
      'Run `hermetic setup`, or set model.base_url.',
    ],
    [
      { provider: 'anthropic', model: 'm' },
      'There is no key for anthropic: ANTHROPIC_API_KEY is not set.',
      'Set ANTHROPIC_API_KEY in .env, or run `hermetic setup`.',
    ],
    [
      { provider: 'google', model: 'm' },
      'There is no key for google: GEMINI_API_KEY is not set.',
      'Set GEMINI_API_KEY in .env, or run `hermetic setup`.',
    ],
    [
      { provider: 'ollama', model: 'm', api_key_env: 'MY_KEY' },
      'There is no key for ollama: MY_KEY is not set.',
      'Set MY_KEY in .env, or run `hermetic setup`.',
    ],
  ])('%j names the missing setting', async (settings, message, hint) => {
    expect(await refusalOf(settings, { OTHER_KEY: 'x' })).toMatchObject({ code: 'model/unusable', message, hint });
  });

  it('opens ollama and openai-compatible models without a key', async () => {
    expect((await openModel({ provider: 'ollama', model: 'llama' }, {})).id).toBe('ollama/llama');
    expect((await openModel({ provider: 'openai-compatible', model: 'm', base_url: 'http://127.0.0.1:1/v1' }, {})).id).toBe(
      'openai-compatible/m',
    );
  });

  it('does not send the OpenAI key to an openai-compatible server', async () => {
    await using server = await startModelServer(() => says('ok'));
    const model = await openModel({ provider: 'openai-compatible', model: 'm', base_url: server.url }, { OPENAI_API_KEY: 'secret' });
    expect(await checkModel(model)).toEqual({ usable: true });
    expect(JSON.stringify(server.requests[0]?.headers)).not.toContain('secret');
  });
});

describe('every provider', () => {
  const rows: [NonNullable<ModelSettings['provider']>, string, string, [string, string]][] = [
    ['openai-compatible', 'm', '/v1/chat/completions', ['authorization', 'Bearer key-1']],
    ['ollama', 'm', '/v1/chat/completions', ['authorization', '']],
    ['openrouter', 'anthropic/claude', '/v1/chat/completions', ['authorization', 'Bearer key-3']],
    ['anthropic', 'claude', '/v1/messages', ['x-api-key', 'key-2']],
    ['openai', 'gpt-5', '/v1/responses', ['authorization', 'Bearer key-4']],
    ['google', 'gemini-pro', '/v1/models/gemini-pro:streamGenerateContent?alt=sse', ['x-goog-api-key', 'key-5']],
  ];

  it.each(rows)('%s completes a turn with tools', async (provider, model, path, [header, value]) => {
    await using rig = await startRig(
      inTurn(calls(['echo', { text: 'a' }], ['echo', { text: 'b' }]), {
        pieces: [{ text: 'do' }, { text: 'ne' }],
        usage: { input: 500, output: 5, cached: 400 },
      }),
      { provider, model },
    );
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'done' });
    const [first, second] = rig.server.requests;
    expect(first?.path).toBe(path);
    expect(first?.headers[header] ?? '').toBe(value);
    expect(first?.tools).toEqual(['echo']);
    expect(first?.messages.map(({ role }) => role.replace('developer', 'system'))).toEqual(['system', 'user']);
    const after = second?.messages.slice(2) ?? [];
    expect(after.flatMap((message) => message.calls)).toEqual(['echo', 'echo']);
    expect(
      after
        .filter(({ role }) => role === 'tool')
        .map(({ text }) => text)
        .join('\n'),
    ).toBe('a\nb');
    expect(rig.usages.at(-1)).toMatchObject({ inputTokens: 500, outputTokens: 5, cachedTokens: 400 });
  });

  it.each(rows)('%s is retried when its answer breaks off', async (provider, model) => {
    for (const cut of ['socket', 'end'] as const) {
      await using rig = await startRig(inTurn({ pieces: [{ text: 'Hel' }, { cut }] }, says('Hello')), { provider, model });
      expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'Hello' });
      expect(rig.events.map(({ type }) => type)).toEqual(['asking', 'text', 'text-discarded', 'waiting', 'text', 'step-finished']);
    }
  });

  it.each(rows)('%s is retried when it fails in the middle of an answer', async (provider, model) => {
    await using rig = await startRig(inTurn({ pieces: [{ text: 'Hel' }, { error: 'Overloaded' }] }, says('Hello')), {
      provider,
      model,
    });
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'Hello' });
  });
});

describe('conversations across providers', () => {
  const providers = ['openai-compatible', 'anthropic', 'openai', 'google', 'openrouter'] as const;
  const script = () =>
    inTurn(
      {
        pieces: [{ think: 'Hm.' }, { text: 'Let me see.' }, { call: 'echo', input: { text: 'a' } }, { call: 'echo', input: { text: 'b' } }],
      },
      says('Done.'),
    );

  it.each(providers.flatMap((first) => providers.filter((each) => each !== first).map((second) => [first, second] as const)))(
    'a conversation with %s continues with %s',
    async (first, second) => {
      await using before = await startRig(script(), { provider: first, model: 'anthropic/one' });
      await before.run('go');
      await using after = await startRig(() => says('I know.'), { provider: second, model: 'anthropic/two' });
      after.transcript = before.transcript;
      expect(await after.run('do you know what was done?')).toEqual({ kind: 'answered', text: 'I know.' });
      const seen = after.server.requests[0]?.messages ?? [];
      expect(seen.flatMap((message) => message.calls)).toEqual(['echo', 'echo']);
      expect(seen.filter(({ role }) => role === 'tool').flatMap(({ text }) => text.split('\n'))).toEqual(['a', 'b']);
    },
  );

  it.each(['openai-compatible', 'anthropic', 'google'] as const)('separates the thinking of %s from its answer', async (provider) => {
    await using rig = await startRig(inTurn({ pieces: [{ think: 'Hm.' }, { text: 'Yes.' }] }), { provider, model: 'm' });
    expect(await rig.run('sure?')).toEqual({ kind: 'answered', text: 'Yes.' });
    expect(rig.events.slice(0, 3)).toEqual([{ type: 'asking' }, { type: 'thinking', text: 'Hm.' }, { type: 'text', text: 'Yes.' }]);
  });

  it("returns Anthropic's thinking unchanged with its signature", async () => {
    await using rig = await startRig(script(), { provider: 'anthropic', model: 'claude' });
    await rig.run('go');
    expect(partsOf(rig.server.requests[1]?.body.messages?.[1]?.content)[0]).toEqual({
      type: 'thinking',
      thinking: 'Hm.',
      signature: signatureOf('claude'),
    });
  });

  const thoughts = (request: ModelRequest | undefined) =>
    request?.body.messages?.flatMap(({ content }) => partsOf(content).filter(({ type }) => type === 'thinking'));

  it('another model of Anthropic gets none of the thoughts of the first, which gets its own again', async () => {
    await using rig = await startRig(script(), { provider: 'anthropic', model: 'claude-a' });
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'Done.' });
    const settings = { provider: 'anthropic', base_url: rig.server.url } as const;
    const other = await openModel({ ...settings, model: 'claude-b' }, { ANTHROPIC_API_KEY: 'key' });
    rig.server.forget();
    expect(await rig.run('and now?', { model: other })).toEqual({ kind: 'answered', text: 'Done.' });
    expect(await rig.run('and again?')).toEqual({ kind: 'answered', text: 'Done.' });
    expect(rig.server.requests.map((request) => thoughts(request)?.length)).toEqual([0, 1]);
  });

  it('thoughts that the provider refuses all the same are left out, and the same is asked once more', async () => {
    await using rig = await startRig(script(), { provider: 'anthropic', model: 'claude-a' });
    await rig.run('go');
    // As when a provider replaces a model behind its name.
    rig.transcript = JSON.parse(JSON.stringify(rig.transcript).replaceAll(signatureOf('claude-a'), 'signed by another'));
    rig.server.forget();
    expect(await rig.run('and now?')).toEqual({ kind: 'answered', text: 'Done.' });
    expect(rig.server.requests.map((request) => thoughts(request)?.length)).toEqual([1, 0]);
  });

  it('thoughts that a model has refused are not sent to it again, and those that it has since are', async () => {
    await using rig = await startRig(() => ({ pieces: [{ think: 'Hm.' }, { text: 'Yes.' }] }), {
      provider: 'anthropic',
      model: 'claude-a',
    });
    await rig.run('go');
    rig.transcript = JSON.parse(JSON.stringify(rig.transcript).replaceAll(signatureOf('claude-a'), 'signed by another'));
    rig.server.forget();
    for (const text of ['and now?', 'and again?']) expect(await rig.run(text)).toEqual({ kind: 'answered', text: 'Yes.' });
    expect(rig.server.requests.map((request) => thoughts(request)?.length)).toEqual([1, 0, 1]);
  });

  it('a provider that takes no thoughts at all is sent none after it has refused them twice', async () => {
    const isRefused = ({ body }: ModelRequest) => JSON.stringify(body.messages).includes('reasoning_content');
    await using rig = await startRig((request) =>
      isRefused(request)
        ? refuses(400, "'messages.2' : for 'role:assistant' the following must be satisfied: property 'reasoning_content' is unsupported")
        : { pieces: [{ think: 'Hm.' }, { text: 'Yes.' }] },
    );
    const asked: number[] = [];
    for (const text of ['one', 'two', 'three', 'four', 'five']) {
      const before = rig.server.requests.length;
      expect(await rig.run(text)).toEqual({ kind: 'answered', text: 'Yes.' });
      asked.push(rig.server.requests.length - before);
    }
    expect(asked).toEqual([1, 2, 2, 1, 1]);
  });

  it('a refusal because of thoughts is final when only those of another model were left out before', async () => {
    await using rig = await startRig(script(), { provider: 'anthropic', model: 'claude-a' });
    await rig.run('go');
    rig.server.script = () => refuses(400, 'Invalid `signature` in `thinking` block');
    const other = await openModel({ provider: 'anthropic', base_url: rig.server.url, model: 'claude-b' }, { ANTHROPIC_API_KEY: 'key' });
    rig.server.forget();
    expect(await rig.run('and now?', { model: other })).toMatchObject({ kind: 'failed' });
    expect(rig.server.requests).toHaveLength(1);
  });

  /** As DeepSeek and Kimi do while they think: answers with calls must come back with their thoughts. */
  const wantsThoughts = ({ body, last }: ModelRequest) => {
    const lacking = body.messages?.some(({ tool_calls, reasoning_content }) => tool_calls && !reasoning_content);
    if (lacking) return refuses(400, 'The `reasoning_content` in the thinking mode must be passed back to the API.');
    if (last.role === 'tool') return { pieces: [{ think: 'So.' }, { text: 'Done.' }] };
    return { pieces: [{ think: 'Hm.' }, { call: 'echo', input: { text: 'x'.repeat(2000) } }] };
  };

  it('a model that wants thoughts in every answer gets some in place of those of another model, after one refusal', async () => {
    await using rig = await startRig(wantsThoughts, { model: 'flash' });
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'Done.' });
    const other = await openModel({ provider: 'openai-compatible', base_url: rig.server.url, model: 'pro' }, {});
    rig.server.forget();
    for (const text of ['and now?', 'and again?'])
      expect(await rig.run(text, { model: other })).toEqual({ kind: 'answered', text: 'Done.' });
    expect(rig.server.requests).toHaveLength(5);
  });

  it('a model that wants thoughts in every answer goes on after old ones were cut away', async () => {
    await using rig = await startRig(wantsThoughts, { context_tokens: 12_000 });
    for (let turn = 0; turn < 8; turn++) expect(await rig.run(`Question ${turn}.`)).toEqual({ kind: 'answered', text: 'Done.' });
    // Once when the first were cut, and then never again.
    expect(rig.server.requests.filter((request) => 'status' in wantsThoughts(request))).toHaveLength(1);
  });

  it('a provider that refuses thoughts and their absence in turn is not asked without end', async () => {
    await using rig = await startRig(wantsThoughts, { model: 'flash' });
    await rig.run('go');
    rig.server.script = ({ body }) =>
      JSON.stringify(body.messages).includes('reasoning_content')
        ? refuses(400, 'reasoning_content is not supported')
        : refuses(400, 'reasoning_content is missing in assistant tool call message at index 1');
    rig.server.forget();
    expect(await rig.run('and now?')).toMatchObject({ kind: 'failed', code: 'model/failed' });
    expect(rig.server.requests).toHaveLength(3);
  });

  it('a refusal because of thoughts is final when none were sent', async () => {
    await using rig = await startRig(() => refuses(400, 'Invalid `signature` in `thinking` block'), {
      provider: 'anthropic',
      model: 'claude',
    });
    expect(await rig.run('go')).toMatchObject({ kind: 'failed', code: 'model/failed' });
    expect(rig.server.requests).toHaveLength(1);
  });
});

describe('provider caches', () => {
  it('marks the cacheable input for Anthropic', async () => {
    await using rig = await startRig(inTurn(calls(['echo', { text: 'a' }]), says('done')), { provider: 'anthropic', model: 'claude' });
    await rig.run('go');
    const [first, second] = rig.server.requests;
    const marks = (request: typeof first) =>
      request?.body.messages?.map(({ content }) => partsOf(content).some((part) => part.cache_control !== undefined));
    expect(partsOf(first?.body.system).at(-1)?.cache_control).toEqual({ type: 'ephemeral' });
    expect(marks(first)).toEqual([true]);
    // Question, answer with the call, result: what was marked before and the end of what is new.
    expect(marks(second)).toEqual([true, false, true]);
    expect(JSON.stringify(second?.body.messages?.[0])).toBe(JSON.stringify(first?.body.messages?.[0]));
  });

  it('marks the cacheable input for Anthropic models behind OpenRouter', async () => {
    await using rig = await startRig(() => says('done'), { provider: 'openrouter', model: 'anthropic/claude' });
    await rig.run('go');
    expect(JSON.stringify(rig.server.requests[0]?.body)).toContain('"cache_control":{"type":"ephemeral"}');
  });

  it('stores nothing at OpenAI, so that no later turn depends on it', async () => {
    await using rig = await startRig(() => says('done'), { provider: 'openai', model: 'gpt-5' });
    await rig.run('go');
    await rig.run('again');
    expect(rig.server.requests.map(({ body }) => body.store)).toEqual([false, false]);
    expect(JSON.stringify(rig.server.requests[1]?.body)).not.toContain('item_reference');
  });
});

describe('provider packages', () => {
  it('loads no provider package before a model is used, and then only its own', () => {
    const source = join(import.meta.dirname, '../../src');
    const script = `
      import { registerHooks } from 'node:module';
      const loaded = new Set();
      registerHooks({ load: (url, context, next) => {
        const name = /node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
        if (name) loaded.add(name);
        return next(url, context);
      } });
      const { openModel } = await import(${JSON.stringify(join(source, 'models/index.ts'))});
      await import(${JSON.stringify(join(source, 'models/check.ts'))});
      await import(${JSON.stringify(join(source, 'agent/loop.ts'))});
      const before = [...loaded];
      await openModel({ provider: 'anthropic', model: 'm' }, { ANTHROPIC_API_KEY: 'k' });
      console.log(JSON.stringify([before, [...loaded]]));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    const [before, after] = JSON.parse(stdout || `["${stderr}"]`);
    expect(before).toEqual(['zod']);
    expect(after).toContain('@ai-sdk/anthropic');
    expect(after).not.toContain('@ai-sdk/openai');
  });
});

describe('model checks', () => {
  const settings = (url: string): ModelSettings => ({ provider: 'anthropic', model: 'claude-x', base_url: url });
  const variables = { ANTHROPIC_API_KEY: 'sk-secret' };

  it('checks a model with one small call that offers a tool', async () => {
    await using server = await startModelServer(() => says('ready'));
    expect(await checkModel(await openModel(settings(server.url), variables))).toEqual({ usable: true });
    expect(server.requests.length).toBe(1);
    expect(server.requests[0]).toMatchObject({ body: { max_tokens: 16 }, tools: ['noop'] });
  });

  it.each([
    [401, 'invalid x-api-key sk-secret', 'model/unusable', 'Anthropic refuses the key in ANTHROPIC_API_KEY: invalid x-api-key ***'],
    [404, 'model: claude-x', 'model/unusable', /^Anthropic has no model called "claude-x" at http:.*: model: claude-x$/],
    [402, 'pay first', 'model/unusable', 'The account at Anthropic has no credit left: pay first'],
    [
      400,
      'Your credit balance is too low',
      'model/unusable',
      'The account at Anthropic has no credit left: Your credit balance is too low',
    ],
    [
      400,
      'claude-x does not support tools',
      'model/failed',
      'Anthropic refused the request with status 400: claude-x does not support tools',
    ],
    [529, 'Overloaded', 'model/failed', 'Anthropic failed with status 529: Overloaded'],
  ])('explains a failed check in one sentence: %i %s', async (status, said, code, message) => {
    await using server = await startModelServer(() => refuses(status, said));
    const check = await checkModel(await openModel(settings(server.url), variables));
    expect(check).toMatchObject({
      usable: false,
      failure: { code, message: typeof message === 'string' ? message : expect.stringMatching(message) },
    });
    expect(server.requests.length).toBe(1);
  });

  it('reports a provider that cannot be reached', async () => {
    const server = await startModelServer(() => says('ready'));
    const model = await openModel(settings(server.url), variables);
    await server.close();
    expect(await checkModel(model)).toMatchObject({
      usable: false,
      failure: { code: 'model/failed', message: expect.stringMatching(/^Anthropic cannot be reached at http:/), hint: expect.any(String) },
    });
  });
});
