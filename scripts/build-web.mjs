// Builds the web page into dist-web, and knows when that has to be done again. Plain JavaScript, because it runs on any Node from 20 on.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ownRoot = dirname(dirname(fileURLToPath(import.meta.url)));
const bundled = ['marked', 'preact', 'vite'];
/** What the page takes from the gateway's own code, beyond types. */
const shared = ['src/lib/markdown-tokens.ts'];

/** Whether the page that is there was made of what is there now. */
export function isWebBuilt(root = ownRoot) {
  try {
    return readFileSync(markOf(root), 'utf8') === digestOf(root);
  } catch {
    return false; // never built, or not to its end
  }
}

/** Resolves with nothing, or with what went wrong. */
export function buildWeb(root = ownRoot) {
  const digest = digestOf(root);
  const node = join(root, 'node_modules', '.bin', 'node');
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  const args = [vite, 'build', '--config', join(root, 'web', 'vite.config.ts'), '--logLevel', 'warn'];
  const { status, error } = spawnSync(node, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (error) return error.message;
  if (status !== 0) return `vite ended with ${status}`;
  writeFileSync(markOf(root), digest);
  return undefined;
}

function markOf(root) {
  return join(root, 'dist-web', '.made-of');
}

/** Of the content, not of times: a checkout changes times, and a build in an image may lose them. */
function digestOf(root) {
  const hash = createHash('sha256');
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  for (const name of bundled) hash.update(`${name} ${locked[`node_modules/${name}`]?.version}\n`);
  const web = join(root, 'web');
  const entries = readdirSync(web, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  for (const file of [...files.sort(), ...shared.map((path) => join(root, path))])
    hash
      .update(`${file.slice(root.length)}\n`)
      .update(readFileSync(file))
      .update('\0');
  return hash.digest('hex');
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const failure = buildWeb();
  if (failure) {
    process.stderr.write(`The web page could not be built: ${failure}\n`);
    process.exitCode = 1;
  }
}
