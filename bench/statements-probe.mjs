// Loaded before the program: counts the SQL statements of its main thread. On SIGUSR2 it writes them, in order and by text, to the file that
// HERMETIC_BENCH_STATEMENTS names, and counts anew.
import { renameSync, writeFileSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const file = process.env.HERMETIC_BENCH_STATEMENTS;
/** So many are kept in order. */
const maxInOrder = 2000;
let inOrder = [];
let byText = new Map();

function count(text) {
  byText.set(text, (byText.get(text) ?? 0) + 1);
  if (inOrder.length < maxInOrder) inOrder.push(text);
}

function wrap(prototype, name, textOf) {
  const original = prototype[name];
  prototype[name] = function (...words) {
    count(textOf(this, words));
    return original.apply(this, words);
  };
}

if (file && isMainThread) {
  for (const name of ['run', 'get', 'all', 'iterate']) wrap(StatementSync.prototype, name, (statement) => statement.sourceSQL);
  wrap(DatabaseSync.prototype, 'exec', (_, [text]) => text);
  process.on('SIGUSR2', () => {
    const total = [...byText.values()].reduce((sum, each) => sum + each, 0);
    writeFileSync(`${file}.new`, JSON.stringify({ total, byText: [...byText], inOrder }));
    renameSync(`${file}.new`, file);
    inOrder = [];
    byText = new Map();
  });
}
