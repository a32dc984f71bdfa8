import { type Context, Hono, type MiddlewareHandler } from 'hono';
import * as z from 'zod';
import { HermeticError } from '../core/errors.ts';
import { bodyOf } from './body.ts';
import { refusal, type Web } from './guard.ts';
import type { WebSecrets } from './parts.ts';

const hosts = z.array(z.string().max(300, 'A host has at most 300 characters.')).max(100, 'A secret has at most 100 hosts.');
const change = z.strictObject({ hosts, value: z.string().optional() });

/** Security: no answer has a value, and no error that is logged has one either. */
export function secretRoutes(secrets: WebSecrets, small: MiddlewareHandler<Web>): Hono<Web> {
  const routes = new Hono<Web>();
  const answer = async (context: Context<Web>, action?: () => Promise<string>): Promise<Response> => {
    try {
      const done = await action?.();
      return context.json({ ...(done !== undefined && { done }), ...(await secrets.view()) });
    } catch (error) {
      return refused(context, error);
    }
  };

  routes.get('/', (context) => answer(context));
  routes.put('/:name', small, async (context) => {
    const body = await bodyOf(context, change);
    return body instanceof Response ? body : await answer(context, () => secrets.set(context.req.param('name'), body));
  });
  routes.delete('/:name', (context) => answer(context, () => secrets.remove(context.req.param('name'))));
  return routes;
}

function refused(context: Context<Web>, error: unknown): Response {
  if (!(error instanceof HermeticError)) throw error;
  const { code, message, hint } = error;
  if (code === 'secret/not-found') return refusal(context, 404, message);
  // Its hint is for a command line.
  if (code.startsWith('usage/')) return refusal(context, 400, message);
  if (!code.startsWith('config/')) throw error;
  return refusal(context, code === 'config/bad-value' ? 400 : 409, hint === undefined ? message : `${message}\n${hint}`);
}
