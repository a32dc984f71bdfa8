import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import * as z from 'zod';
import { pageOwner } from '../core/sign-ins.ts';
import { ByteStore } from '../lib/byte-store.ts';
import { bodyOf, tooLarge } from './body.ts';
import type { Followers } from './events.ts';
import { disposition, isShownInline } from './files.ts';
import { refusal, type Web } from './guard.ts';
import type { HttpLimits, HttpParts } from './parts.ts';
import { secretRoutes } from './secret-routes.ts';
import { signInRoutes } from './sign-in-routes.ts';
import type { SignInWatch } from './sign-in-watch.ts';

const id = z.string().regex(/^[\w-]{8,64}$/, 'An id has 8 to 64 letters, digits, _ and -.');
const text = z.string().max(60_000, 'A message has at most 60,000 characters. Send more as a file.');
const files = z.array(id).max(10, 'A message has at most 10 files.').default([]);
const message = z
  .strictObject({ id, text, files, replyTo: id.optional() })
  .refine(({ text, files }) => text.trim() !== '' || files.length > 0, 'It says nothing.');
const press = z.strictObject({ id, message: id, data: z.string().min(1).max(64) });
const chatPlace = z
  .string()
  .regex(/^\d{1,15}\.[\w-]{1,64}$/)
  .transform((place) => ({ at: new Date(Number(place.split('.')[0])), id: place.slice(place.indexOf('.') + 1) }));
const chatQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(100),
  after: chatPlace.optional(),
  search: z.string().max(200).optional(),
});
const noChat = 'There is no such chat.';
const maxPage = 200;

export interface RouteParts {
  parts: HttpParts;
  limits: HttpLimits;
  followers: Followers;
  watch: SignInWatch;
  newLink: () => string;
}

/** Everything under /api that needs to be let in. */
export function ownRoutes({ parts, limits, followers, watch, newLink }: RouteParts): Hono<Web> {
  const { chats } = parts;
  const routes = new Hono<Web>();
  const small = bodyLimit({ maxSize: limits.maxJsonBytes, onError: tooLarge });

  routes.get('/status', async (context) => context.json(await parts.status()));
  routes.post('/links', async (context) => {
    await parts.signIns.linked(pageOwner, new Date());
    return context.json({ url: newLink() }, 201);
  });
  routes.get('/chats', async (context) => {
    const query = chatQuery.safeParse(context.req.query());
    if (!query.success)
      return refusal(context, 400, 'limit is at most 100, search has at most 200 characters, and after is the next of another page.');
    const { chats: page, next } = await chats.list(query.data);
    return context.json({ chats: page, ...(next && { next: `${next.at.getTime()}.${next.id}` }) });
  });
  routes.post('/chats', small, async (context) => context.json(await chats.create(), 201));

  routes.get('/chats/:chat/messages', async (context) => {
    const before = z.coerce.number().int().positive().optional().safeParse(context.req.query('before'));
    const limit = z.coerce.number().int().min(1).max(maxPage).default(100).safeParse(context.req.query('limit'));
    if (!before.success || !limit.success) return refusal(context, 400, 'before and limit are numbers.');
    const page = await chats.page(context.req.param('chat'), before.data, limit.data);
    return page ? context.json({ ...page, limits: { fileBytes: limits.maxFileBytes } }) : refusal(context, 404, noChat);
  });

  routes.post('/chats/:chat/messages', small, async (context) => {
    const body = await bodyOf(context, message);
    if (body instanceof Response) return body;
    const isThere = await chats.receive(context.req.param('chat'), { ...body, replyTo: body.replyTo });
    return isThere ? context.json({ ok: true }, 202) : refusal(context, 404, noChat);
  });

  routes.post('/chats/:chat/press', small, async (context) => {
    const body = await bodyOf(context, press);
    if (body instanceof Response) return body;
    const isThere = await chats.press(context.req.param('chat'), body);
    return isThere ? context.json({ ok: true }, 202) : refusal(context, 409, 'This button is no longer there.');
  });

  routes.post('/chats/:chat/stop', small, async (context) => {
    const chat = context.req.param('chat');
    // Security: one's own chats only, which `page` knows.
    if (!(await chats.page(chat, undefined, 1))) return refusal(context, 404, noChat);
    await parts.stop(chat);
    return context.json({ ok: true }, 202);
  });

  routes.post('/chats/:chat/files', bodyLimit({ maxSize: limits.maxFileBytes, onError: tooLarge }), async (context) => {
    const name = decoded(context.req.header('x-file-name') ?? '');
    if (!name) return refusal(context, 400, 'The header x-file-name is missing or not percent-encoded.');
    const data = await bytesOf(context.req.raw.body);
    const file = await chats.upload(context.req.param('chat'), { name, data });
    return file ? context.json(file, 201) : refusal(context, 404, noChat);
  });

  routes.get('/chats/:chat/files/:file', async (context) => {
    const file = await chats.download(context.req.param('chat'), context.req.param('file'));
    if (!file) return refusal(context, 404, 'There is no such file.');
    const isInline = isShownInline(file.mimeType);
    return new Response(Buffer.from(file.data), {
      headers: {
        'content-type': isInline ? file.mimeType : 'application/octet-stream',
        'content-disposition': disposition(isInline ? 'inline' : 'attachment', file.name),
        // Security: a file runs nothing and loads nothing, should a browser show it as a page.
        'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
        'cache-control': 'private, max-age=31536000, immutable',
      },
    });
  });

  routes.route('/secrets', secretRoutes(parts.secrets, small));
  routes.route('/sign-ins', signInRoutes({ signIns: parts.signIns, watch }));
  routes.get('/events', (context) => followers.followSeveral(context));
  // For a page that looks whether the gateway is back.
  routes.get('/ping', (context) => context.body(null, 204));
  routes.get('/chats/:chat/events', (context) => followers.follow(context, context.req.param('chat')));
  return routes;
}

/** In bounded memory, in however many pieces it is sent; the limit of the route holds. */
async function bytesOf(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  const bytes = new ByteStore();
  for await (const piece of body ?? []) bytes.push(piece);
  return bytes.take();
}

function decoded(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
