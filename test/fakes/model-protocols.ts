import { type Body, type Content, partsOf } from './model-bodies.ts';

/** How the interfaces of model providers look on the wire, as far as an agent uses them. */

export interface ScriptedUsage {
  input?: number;
  output?: number;
  /** Of the input, read from the provider's cache. */
  cached?: number;
  /** Of the input, written to the provider's cache. */
  written?: number;
}

export type Finish = 'stop' | 'tool-calls' | 'length' | 'content-filter';

/** One answer on its way. Each method gives the events to send, in order. */
interface Encoder {
  begin(): string[];
  text(text: string): string[];
  /** Where the protocol has it; otherwise nothing. */
  think(text: string): string[];
  /** The events can be cut anywhere: the arguments come in two parts. */
  call(id: string, name: string, input: string): string[];
  end(finish: Finish, usage: Required<ScriptedUsage>): string[];
  error(message: string): string[];
}

/** One message of a request, the same for every protocol. */
export interface SeenMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  text: string;
  /** Names of the tools this message calls. */
  calls: readonly string[];
}

export interface Protocol {
  readonly name: 'chat' | 'anthropic' | 'responses' | 'gemini';
  matches(path: string): boolean;
  encoder(model: string): Encoder;
  failure(status: number, message: string): unknown;
  seen(body: Body): SeenMessage[];
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const event = (value: { type: string }) => `event: ${value.type}\n${data(value)}`;
const halves = (text: string) => [text.slice(0, text.length >> 1), text.slice(text.length >> 1)];

function textOf(content: Content): string {
  if (typeof content === 'string') return content;
  const inner = partsOf(content).map(
    (part) => part.text ?? textOf(part.content ?? part.output ?? part.functionResponse?.response?.content),
  );
  return inner.join('\n');
}

const chat: Protocol = {
  name: 'chat',
  matches: (path) => path.endsWith('/chat/completions'),
  encoder(model) {
    const chunk = (delta: object, finish: string | null = null) =>
      data({ id: 'chat-1', object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta, finish_reason: finish }] });
    let calls = 0;
    return {
      begin: () => [chunk({ role: 'assistant', content: '' })],
      text: (text) => [chunk({ content: text })],
      think: (text) => [chunk({ reasoning_content: text })],
      call(id, name, input) {
        const index = calls++;
        const parts = halves(input).map((text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] }));
        return [chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }), ...parts];
      },
      end: (finish, usage) => [
        chunk({}, finish.replace('-', '_')),
        data({
          id: 'chat-1',
          object: 'chat.completion.chunk',
          created: 1,
          model,
          choices: [],
          usage: {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.input + usage.output,
            prompt_tokens_details: { cached_tokens: usage.cached },
          },
        }),
        'data: [DONE]\n\n',
      ],
      error: (message) => [data({ error: { message, type: 'server_error' } })],
    };
  },
  failure: (status, message) => ({ error: { message, type: 'error', code: status } }),
  seen: (body) =>
    (body.messages ?? []).map((message) => ({
      role: message.role,
      text: textOf(message.content),
      calls: (message.tool_calls ?? []).map((call) => call.function.name),
    })),
};

const anthropicReasons = { stop: 'end_turn', 'tool-calls': 'tool_use', length: 'max_tokens', 'content-filter': 'refusal' } as const;

/** Each model reads only the thoughts that it has signed itself. */
export function signatureOf(model: string | undefined): string {
  return `signed by ${model}`;
}

const anthropic: Protocol = {
  name: 'anthropic',
  matches: (path) => path.endsWith('/messages'),
  encoder(model) {
    let index = -1;
    let isText = false;
    const close = () => (isText ? [event({ type: 'content_block_stop', index } as { type: string })] : []);
    const open = (block: object) => event({ type: 'content_block_start', index: ++index, content_block: block } as { type: string });
    const delta = (value: object) => event({ type: 'content_block_delta', index, delta: value } as { type: string });
    const start = (usage: object) =>
      event({
        type: 'message_start',
        message: { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage },
      } as { type: string });
    return {
      begin: () => [start({ input_tokens: 0, output_tokens: 0 })],
      text(text) {
        const opening = isText ? [] : [open({ type: 'text', text: '' })];
        isText = true;
        return [...opening, delta({ type: 'text_delta', text })];
      },
      think(thinking) {
        const closing = close();
        isText = false;
        const opening = open({ type: 'thinking', thinking: '' });
        const parts = [
          { type: 'thinking_delta', thinking },
          { type: 'signature_delta', signature: signatureOf(model) },
        ];
        return [...closing, opening, ...parts.map(delta), event({ type: 'content_block_stop', index } as { type: string })];
      },
      call(id, name, input) {
        const closing = close();
        isText = false;
        const parts = halves(input).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
        const opening = open({ type: 'tool_use', id, name, input: {} });
        return [...closing, opening, ...parts.map(delta), event({ type: 'content_block_stop', index } as { type: string })];
      },
      end: (finish, usage) => [
        ...close(),
        event({
          type: 'message_delta',
          delta: { stop_reason: anthropicReasons[finish], stop_sequence: null },
          usage: {
            input_tokens: usage.input - usage.cached - usage.written,
            cache_read_input_tokens: usage.cached,
            cache_creation_input_tokens: usage.written,
            output_tokens: usage.output,
          },
        } as { type: string }),
        event({ type: 'message_stop' }),
      ],
      error: (message) => [event({ type: 'error', error: { type: 'overloaded_error', message } } as { type: string })],
    };
  },
  failure: (_status, message) => ({ type: 'error', error: { type: 'error', message } }),
  seen: (body) => [
    ...(body.system ? [{ role: 'system' as const, text: textOf(body.system), calls: [] }] : []),
    ...(body.messages ?? []).map((message) => {
      const parts = partsOf(message.content);
      return {
        role: parts.some((part) => part.type === 'tool_result') ? 'tool' : message.role,
        text: textOf(message.content),
        calls: parts.filter((part) => part.type === 'tool_use').map((part) => part.name ?? ''),
      };
    }),
  ],
};

const responses: Protocol = {
  name: 'responses',
  matches: (path) => path.endsWith('/responses'),
  encoder(model) {
    let index = -1;
    let isText = false;
    const send = (value: object) => event(value as { type: string });
    const item = () => `item_${index}`;
    const close = () =>
      isText
        ? [
            send({
              type: 'response.output_item.done',
              output_index: index,
              item: { type: 'message', id: item(), role: 'assistant', content: [] },
            }),
          ]
        : [];
    return {
      begin: () => [send({ type: 'response.created', response: { id: 'resp_1', created_at: 1, model } })],
      text(text) {
        if (!isText) index++;
        const added = { type: 'response.output_item.added', output_index: index, item: { type: 'message', id: item() } };
        const opening = isText ? [] : [send(added)];
        isText = true;
        return [...opening, send({ type: 'response.output_text.delta', item_id: item(), output_index: index, delta: text })];
      },
      think: () => [],
      call(id, name, input) {
        const closing = close();
        isText = false;
        index++;
        const call = { type: 'function_call', id: item(), call_id: id, name };
        return [
          ...closing,
          send({ type: 'response.output_item.added', output_index: index, item: { ...call, arguments: '' } }),
          ...halves(input).map((delta) =>
            send({ type: 'response.function_call_arguments.delta', item_id: item(), output_index: index, delta }),
          ),
          send({ type: 'response.output_item.done', output_index: index, item: { ...call, arguments: input, status: 'completed' } }),
        ];
      },
      end: (_finish, usage) => [
        ...close(),
        send({
          type: 'response.completed',
          response: {
            id: 'resp_1',
            created_at: 1,
            model,
            usage: { input_tokens: usage.input, input_tokens_details: { cached_tokens: usage.cached }, output_tokens: usage.output },
          },
        }),
      ],
      error: (message) => [send({ type: 'error', sequence_number: 0, error: { type: 'server_error', code: 'server_error', message } })],
    };
  },
  failure: (status, message) => ({ error: { message, type: 'error', code: String(status) } }),
  seen: (body) =>
    (body.input ?? []).map((item) => ({
      role: item.type === 'function_call_output' ? 'tool' : item.type === 'function_call' ? 'assistant' : item.role,
      text: textOf(item.content ?? item.output),
      calls: item.type === 'function_call' ? [item.name ?? ''] : [],
    })),
};

const geminiReasons = { stop: 'STOP', 'tool-calls': 'STOP', length: 'MAX_TOKENS', 'content-filter': 'SAFETY' } as const;

const gemini: Protocol = {
  name: 'gemini',
  matches: (path) => path.includes(':streamGenerateContent'),
  encoder() {
    const chunk = (parts: unknown[], rest: object = {}) => data({ candidates: [{ content: { role: 'model', parts }, ...rest }] });
    return {
      begin: () => [],
      text: (text) => [chunk([{ text }])],
      think: (text) => [chunk([{ text, thought: true }])],
      call: (_id, name, input) => [chunk([{ functionCall: { name, args: JSON.parse(input) } }])],
      end: (finish, usage) => [
        data({
          candidates: [{ content: { role: 'model', parts: [] }, finishReason: geminiReasons[finish] }],
          usageMetadata: {
            promptTokenCount: usage.input,
            candidatesTokenCount: usage.output,
            totalTokenCount: usage.input + usage.output,
            cachedContentTokenCount: usage.cached,
          },
        }),
      ],
      error: (message) => [data({ error: { code: 503, message, status: 'UNAVAILABLE' } })],
    };
  },
  failure: (status, message) => ({ error: { code: status, message, status: 'ERROR' } }),
  seen: (body) => [
    ...(body.systemInstruction ? [{ role: 'system' as const, text: textOf(body.systemInstruction.parts), calls: [] }] : []),
    ...(body.contents ?? []).map(({ role, parts }) => ({
      role: role === 'model' ? ('assistant' as const) : parts.some((part) => part.functionResponse) ? ('tool' as const) : ('user' as const),
      text: textOf(parts),
      calls: parts.flatMap((part) => (part.functionCall ? [part.functionCall.name] : [])),
    })),
  ],
};

export const protocols: readonly Protocol[] = [chat, anthropic, responses, gemini];
