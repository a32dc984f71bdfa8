import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { serveStatic } from '@hono/node-server/serve-static';
import { type Handler, Hono } from 'hono';
import { compress } from 'hono/compress';
import { etag } from 'hono/etag';
import type { Web } from './guard.ts';

/** Serves the files of a build of the page; none whose name begins with a dot. */
export function builtPage(directory: string): Hono<Web> {
  if (!existsSync(join(directory, 'index.html'))) return new Hono<Web>().get('/', notBuilt);
  const files = serveStatic<Web>({
    root: directory,
    // The builder puts a digest into the name of everything in assets/.
    onFound: (path, context) =>
      context.header('cache-control', /[\\/]assets[\\/]/.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache'),
  });
  return new Hono<Web>()
    .use(compress(), etag())
    .get('*', (context, next) => (context.req.path.includes('/.') ? next() : files(context, next)));
}

const notBuilt: Handler<Web> = (context) => context.text('The web page is not built. Run: npm run build:web\n', 503);
