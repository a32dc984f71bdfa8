import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ada, bob, FakeBotApi } from '../../fakes/bot-api.ts';
import { until } from '../../until.ts';

const listener = fileURLToPath(new URL('./kill-listener.ts', import.meta.url));
let api: FakeBotApi;
let directory: string;

beforeEach(async () => {
  api = await FakeBotApi.start();
  directory = mkdtempSync(join(tmpdir(), 'hermetic-telegram-'));
});
afterEach(async () => {
  await api.close();
  rmSync(directory, { recursive: true });
});

it('loses no message and keeps their order when the channel is killed again and again', async () => {
  const path = join(directory, 'accepted');
  const lines = (): string[] => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []);
  const expected: string[] = [];
  const say = (): void => {
    const from = expected.length % 3 === 0 ? bob : ada;
    api.world.says({ from, text: `word ${expected.length}` });
    expected.push(`${from.id} word ${expected.length}`);
  };
  // Every third connection is cut, before or after it had its effect.
  let calls = 0;
  api.trouble = () => {
    calls += 1;
    return calls % 3 === 0 ? { cut: calls % 2 === 0 ? 'before' : 'after' } : undefined;
  };
  for (let life = 0; life < 5; life += 1) {
    for (let count = 0; count < 10; count += 1) say();
    const before = lines().length;
    const child = spawn(process.execPath, [listener, api.root, api.token, path], { stdio: 'inherit' });
    try {
      const isLast = life === 4;
      await until('it has accepted something', () => (isLast ? api.unconfirmed.length === 0 : lines().length > before + 3));
    } finally {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
  }
  const distinct = [...new Set(lines())];
  expect(distinct.toSorted()).toEqual(expected.toSorted());
  for (const { id } of [ada, bob]) {
    const isTheirs = (line: string): boolean => line.startsWith(`${id} `);
    expect(distinct.filter(isTheirs)).toEqual(expected.filter(isTheirs));
  }
});
