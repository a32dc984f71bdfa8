/** The first that fits the name counts. Where providers offer several sizes it is the one that everybody has. */
const known: readonly (readonly [RegExp, number])[] = [
  [/claude/, 200_000],
  [/gemini/, 1_000_000],
  [/gpt-4\.1/, 1_000_000],
  [/gpt-[5-9]/, 270_000],
  [/gpt-4o|gpt-4-turbo|gpt-oss/, 128_000],
  [/(^|\/)o[1-9]/, 200_000],
  [/grok|deepseek|glm|kimi|minimax|qwen3-coder/, 128_000],
];

/** Small enough for nearly every model. One that takes even less says so, and the agent shortens what it sends. */
const usual = 32_000;

export function contextTokensOf(model: string): number {
  const name = model.toLowerCase();
  return known.find(([pattern]) => pattern.test(name))?.[1] ?? usual;
}
