import { Hono } from 'hono';
import { pageOwner, type SignInLedger } from '../core/sign-ins.ts';
import { refusal, signInOf, type Web } from './guard.ts';
import type { SignInView } from './parts.ts';
import type { SignInWatch } from './sign-in-watch.ts';

export interface SignInParts {
  signIns: SignInLedger;
  watch: SignInWatch;
}

/** The browsers that are signed in, and the end of each. */
export function signInRoutes({ signIns, watch }: SignInParts): Hono<Web> {
  const routes = new Hono<Web>();

  routes.get('/', async (context) => {
    const own = signInOf(context)?.id;
    const listed = await signIns.list(new Date());
    const views = listed.map((signIn): SignInView => ({ ...signIn, isThis: signIn.id === own }));
    return context.json({ signIns: views });
  });

  routes.delete('/:id', async (context) => {
    const ended = await signIns.end(context.req.param('id'), pageOwner, new Date());
    if (!ended) return refusal(context, 404, 'This browser is not signed in any more.');
    await watch.look();
    return context.json({ ok: true });
  });
  return routes;
}
