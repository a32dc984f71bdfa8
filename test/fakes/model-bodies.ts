/** Requests to providers of models, as far as anybody here looks at them: what the protocols have, all in one. */
export interface Body {
  readonly model?: string;
  readonly store?: boolean;
  readonly system?: Content;
  readonly messages?: readonly BodyMessage[];
  readonly input?: readonly BodyMessage[];
  readonly systemInstruction?: { readonly parts: readonly Part[] };
  readonly contents?: readonly { readonly role: string; readonly parts: readonly Part[] }[];
  readonly tools?: readonly Offer[];
}

export type Content = string | readonly Part[] | null | undefined;

interface BodyMessage extends Part {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
}

export interface Part {
  readonly type?: string;
  readonly id?: string;
  readonly name?: string;
  readonly text?: string;
  readonly content?: Content;
  readonly output?: Content;
  readonly tool_use_id?: string;
  readonly cache_control?: unknown;
  readonly signature?: string;
  readonly image_url?: { readonly url: string };
  readonly functionCall?: { readonly name: string };
  readonly functionResponse?: { readonly response?: { readonly content?: Content } };
}

interface Offer {
  readonly name?: string;
  readonly function?: { readonly name: string };
  readonly functionDeclarations?: readonly { readonly name: string }[];
}

/** The parts of a content that has any. */
export function partsOf(content: Content): readonly Part[] {
  return typeof content === 'string' ? [] : (content ?? []);
}
