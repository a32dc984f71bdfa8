import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type Area, areas } from './attack-areas.ts';
import { countLines, countTests } from './count-probes.ts';

const root = dirname(import.meta.dirname);
const page = join(root, 'docs/threat-model.md');
const marks = ['<!-- attacks: written by `npm run attacks` -->', '<!-- attacks end -->'] as const;

export interface Row {
  area: string;
  count: number;
}

/** What the tests have now. Nothing is run: tests and lines are counted. */
export function countedRows(): Row[] {
  return areas.map((area) => ({ area: area.area, count: countOf(area) }));
}

/** What the page says. */
export function claimedRows(): Row[] {
  const [, table = ''] = new RegExp(`${marks[0]}([^]*)${marks[1]}`).exec(readFileSync(page, 'utf8')) ?? [];
  return [...table.matchAll(/^\| ([^|]+) \| [^|]+ \| ([\d,]+) \|/gm)].map(([, area = '', count = '']) => ({
    area,
    count: Number(count.replaceAll(',', '')),
  }));
}

function countOf(area: Area): number {
  const tests = testFiles(area).reduce((sum, path) => sum + countTests(path), 0);
  return corporaOf(area).reduce((sum, path) => sum + countLines(path), tests);
}

function testFiles({ tests = [] }: Area): string[] {
  return tests.flatMap((pattern) => globSync(pattern, { cwd: root })).map((path) => join(root, path));
}

function corporaOf({ corpora = [] }: Area): string[] {
  return corpora.map((path) => join(root, path));
}

function tableText(): string {
  const number = (count: number): string => count.toLocaleString('en');
  const rows = areas.map((area) => {
    const files = [...(area.tests ?? []), ...corporaOf(area).map((path) => relative(root, path))];
    return `| ${area.area} | ${area.tried} | ${number(countOf(area))} | ${files.map((file) => `\`${file}\``).join(', ')} | ${area.mended} |`;
  });
  const total = countedRows().reduce((sum, { count }) => sum + count, 0);
  return [
    '| area | what was tried | probes | tests | found and fixed |',
    '|---|---|---|---|---|',
    ...rows,
    `\nAltogether ${number(total)} probes. A test that runs on several backends counts once.`,
  ].join('\n');
}

if (import.meta.main) {
  const text = readFileSync(page, 'utf8');
  const [before, after] = [text.indexOf(marks[0]), text.indexOf(marks[1])];
  if (before === -1 || after === -1) throw new Error(`${page} has no place for the table.`);
  writeFileSync(page, `${text.slice(0, before)}${marks[0]}\n${tableText()}\n${text.slice(after)}`);
}
