import type { Model, ModelFailure } from '../core/agent.ts';

export type ModelCheck = { usable: true } | { usable: false; failure: ModelFailure };

const longestMs = 30_000;

/**
 * One call that is as small as it can be, with a tool on offer, because a model that cannot call tools is of no use here. Never rejects.
 */
export async function checkModel(model: Model, signal?: AbortSignal): Promise<ModelCheck> {
  const limit = AbortSignal.timeout(longestMs);
  try {
    const { jsonSchema, streamText, tool } = await import('ai');
    const { stream } = streamText({
      model: model.language,
      prompt: 'Answer with the word: ready',
      tools: { noop: tool({ description: 'Does nothing.', inputSchema: jsonSchema({ type: 'object', properties: {} }) }) },
      // The least that every provider takes.
      maxOutputTokens: 16,
      maxRetries: 0,
      abortSignal: signal ? AbortSignal.any([signal, limit]) : limit,
      providerOptions: model.settings,
      onError: () => undefined,
    });
    for await (const part of stream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'abort') throw new Error(`it timed out after ${longestMs / 1000} seconds`);
    }
    return { usable: true };
  } catch (error) {
    return { usable: false, failure: model.explain(error) };
  }
}
