import type { Context } from 'hono';
import type * as z from 'zod';
import { refusal, type Web } from './guard.ts';

export function tooLarge(context: Context): Response {
  return refusal(context, 413, 'That is too large.');
}

export async function bodyOf<T>(context: Context<Web>, schema: z.ZodType<T>): Promise<T | Response> {
  const body: unknown = await context.req.json().catch(() => undefined);
  if (body === undefined) return refusal(context, 400, 'What was sent is not JSON.');
  const parsed = schema.safeParse(body);
  return parsed.success ? parsed.data : refusal(context, 400, parsed.error.issues.map(inWords).join(' '));
}

/** People read it on the page, and programs want to know which field is meant. */
function inWords({ message: words, path }: z.core.$ZodIssue): string {
  return path.length === 0 ? words : `${words} (${path.join('.')})`;
}
