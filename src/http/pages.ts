import { createHash } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Context } from 'hono';
import type { Web } from './guard.ts';

interface Page {
  body: Buffer<ArrayBuffer>;
  gzipped: Buffer<ArrayBuffer> | undefined;
  type: string;
  etag: string;
  isImmutable: boolean;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
};

const notBuilt = 'The web page is not built. Run: npm run build:web\n';

/** The built page, read once: what is served is what was there at the start, and a path leads to a file that was found or to none. */
export class Pages {
  readonly #pages = new Map<string, Page>();

  constructor(directory: string) {
    for (const path of globSync('**/*', { cwd: directory })) {
      if (statSync(join(directory, path)).isFile()) this.#pages.set(`/${path}`, pageOf(path, readFileSync(join(directory, path))));
    }
  }

  answer(context: Context<Web>): Response | undefined {
    const path = context.req.path === '/' ? '/index.html' : context.req.path;
    const page = this.#pages.get(path);
    if (!page) return path === '/index.html' ? new Response(notBuilt, { status: 503 }) : undefined;
    const { body, gzipped, type, etag, isImmutable } = page;
    const headers: Record<string, string> = {
      'content-type': type,
      etag,
      vary: 'accept-encoding',
      'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    };
    const known = context.req
      .header('if-none-match')
      ?.split(',')
      .map((tag) => tag.trim().replace(/^W\//, ''));
    if (known?.includes(etag)) return new Response(null, { status: 304, headers });
    const takesGzip = /\bgzip\b/.test(context.req.header('accept-encoding') ?? '');
    if (!gzipped || !takesGzip) return new Response(body, { headers });
    return new Response(gzipped, { headers: { ...headers, 'content-encoding': 'gzip' } });
  }
}

function pageOf(path: string, body: Buffer<ArrayBuffer>): Page {
  const type = types[extname(path)] ?? 'application/octet-stream';
  const isText = /^text\/|svg|json/.test(type);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  // The builder puts a digest into the name of everything in there.
  return { body, gzipped: isText ? gzipSync(body) : undefined, type, etag, isImmutable: path.startsWith('assets/') };
}
