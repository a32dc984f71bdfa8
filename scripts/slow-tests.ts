// Runs tests (`npm run test:slow -- test/cli` for some of them) and lists the 30 slowest files and tests.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

interface Report {
  testResults: { name: string; assertionResults: { fullName: string; duration?: number | null }[] }[];
}

const root = dirname(import.meta.dirname);
const scratch = mkdtempSync(join(tmpdir(), 'hermetic-slow-tests-'));
const file = join(scratch, 'report.json');
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
try {
  const { status } = spawnSync('vitest', ['run', ...reporters, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
  process.exitCode = status ?? 1;
  const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as Report;
  const tests = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, duration }) => ({ file: relative(root, name), title: fullName, ms: duration ?? 0 })),
  );
  const files = [...Map.groupBy(tests, (test) => test.file)].map(([title, all]) => ({
    title,
    ms: all.reduce((sum, { ms }) => sum + ms, 0),
  }));
  list('files', files);
  list(
    'tests',
    tests.map(({ file: path, title, ms }) => ({ title: `${path}: ${title}`, ms })),
  );
} finally {
  rmSync(scratch, { recursive: true });
}

function list(what: string, entries: { title: string; ms: number }[]): void {
  const slowest = entries.sort((a, b) => b.ms - a.ms).slice(0, 30);
  console.log(`\nslowest ${what}\n${slowest.map(({ title, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${title}`).join('\n')}`);
}
