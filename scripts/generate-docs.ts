import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configReference, errorReference } from '../src/config/reference.ts';

const pages = { 'config.md': configReference, 'errors.md': errorReference };
const check = process.argv.includes('--check');

for (const [name, render] of Object.entries(pages)) {
  const path = join(import.meta.dirname, '../docs', name);
  if (!check) writeFileSync(path, render());
  else if (readFileSync(path, 'utf8') !== render()) {
    process.stderr.write(`docs/${name} is stale: run \`npm run docs\`.\n`);
    process.exitCode = 1;
  }
}
