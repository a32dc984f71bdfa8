import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Handler, Hono } from 'hono';
import { compress } from 'hono/compress';
import { etag } from 'hono/etag';
import { serveStatic } from 'hono/serve-static';
import type { Web } from './guard.ts';

/**
 * Serves a build of the page, without files whose name begins with a dot. Security: read once, so that a process that later writes to the directory cannot
 * give the owner's browser another script.
 */
export function builtPage(directory: string): Hono<Web> {
  const paths = globSync('**/*', { cwd: directory }).filter((path) => statSync(join(directory, path)).isFile());
  const files = new Map(paths.map((path) => [path, readFileSync(join(directory, path))]));
  if (!files.has('index.html')) return new Hono<Web>().get('/', notBuilt);
  const answer = serveStatic<Web>({
    root: '',
    join: (_, path) => path.replace(/^\//, '') || 'index.html',
    getContent: async (path) => files.get(path) ?? null,
    // The builder puts a digest into the name of everything in assets/.
    onFound: (path, context) =>
      context.header('cache-control', path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'),
  });
  return new Hono<Web>().use(compress(), etag()).get('*', answer);
}

const notBuilt: Handler<Web> = (context) => context.text('The web page is not built. Run: npm run build:web\n', 503);
