import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';
import type { TestProject } from 'vitest/node';

const root = dirname(import.meta.dirname);
const home = mkdtempSync(join(tmpdir(), 'hermetic-built-'));

declare module 'vitest' {
  interface ProvidedContext {
    /** `bin/hermetic.mjs` of the program that was built for this run. */
    program: string | undefined;
  }
}

/**
 * Builds the program once for all tests of a run, laid out as its package is, but with few large files: every test that starts it would
 * otherwise load 600 modules. Tests that need the clone itself start `bin/hermetic.mjs`.
 */
export async function setup(project: TestProject): Promise<void> {
  keepCompiledSource();
  // Some tests run it as another user.
  chmodSync(home, 0o755);
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
  for (const part of ['package.json', ...files].filter((name) => name !== 'dist'))
    cpSync(join(root, part), join(home, part), { recursive: true });
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [moduleAddresses()],
    ssr: { noExternal: true, external: ['baileys', 'ssh2'], target: 'node' },
    build: {
      ssr: true,
      outDir: join(home, 'dist'),
      target: 'node24',
      minify: false,
      emptyOutDir: true,
      rolldownOptions: {
        input: Object.fromEntries(
          ['cli/main', 'lib/own-command', 'bash-judge/worker', 'egress/worker'].map((name) => [name, join(root, `src/${name}.ts`)]),
        ),
        output: { entryFileNames: '[name].js', chunkFileNames: 'parts/[name]-[hash].js' },
      },
    },
  });
  cpSync(join(root, 'src/egress/opener.mjs'), join(home, 'dist/egress/opener.mjs'));
  // The one is installed by the user and in no build, the other looks for addons that are not built.
  mkdirSync(join(home, 'node_modules'));
  for (const name of ['baileys', 'ssh2']) symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name));
  mkdirSync(join(home, 'on-path'));
  symlinkSync(join(home, 'bin', 'hermetic.mjs'), join(home, 'on-path', 'hermetic'));
  project.provide('program', join(home, 'bin', 'hermetic.mjs'));
}

/** For processes that tests start from the source. Those that are killed would never write the cache themselves. */
function keepCompiledSource(): void {
  process.env.NODE_COMPILE_CACHE = join(home, 'compiled');
  const source = pathToFileURL(join(root, 'src', 'index.ts')).href;
  const { status, stderr } = spawnSync(process.execPath, ['--import', source, '--eval', ''], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

export function teardown(): void {
  rmSync(home, { recursive: true, force: true });
}

/** A module finds the files beside it where the package has it, whichever file it is built into. */
function moduleAddresses(): Plugin {
  const source = join(root, 'src');
  return {
    name: 'module-addresses',
    transform(code, id) {
      if (!id.startsWith(source) || !code.includes('import.meta.url')) return null;
      const address = pathToFileURL(join(home, 'dist', relative(source, id).replace(/\.ts$/, '.js'))).href;
      return code.replaceAll('import.meta.url', JSON.stringify(address));
    },
  };
}
