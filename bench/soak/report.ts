import { row } from '../figures.ts';
import type { LoopDelay } from './probe.ts';
import type { LaneResult, Steady } from './result.ts';
import { heapGrowth, mib, signed, type Target } from './targets.ts';

const head = [
  'lane',
  'messages',
  'rate/s',
  'RSS start → load → rest, MiB',
  'live heap start / half / end, MiB',
  'per 10,000 messages',
  'descriptors start → load → rest → closed',
  'children',
  'event loop p50 / p99 / max, saturated',
  'at half the rate',
  'database, largest WAL',
  'lost',
  'doubled (unmarked)',
];

export function resultTable(results: readonly LaneResult[]): string {
  const lines = results.map(({ name, messages, rate, peaks, steady, kills, lost, doubled }) =>
    row(
      kills === undefined ? name : `${name} (${kills})`,
      String(messages),
      rate.toFixed(1),
      ...(steady ? steadyCells(steady, peaks) : ['-', '-', '-', '-', '-', '-', '-', `-, ${megabytes(peaks.log)} MB`]),
      String(lost),
      String(doubled),
    ),
  );
  const notes = results.flatMap(({ name, notes }) => notes.map((note) => `- ${name}: ${note}.`));
  return [row(...head), row(...head.map(() => '---')), ...lines, ...(notes.length > 0 ? ['', ...notes] : [])].join('\n');
}

export function targetTable(targets: readonly Target[]): string {
  const columns = ['target', 'lane', 'measured', 'held'];
  const lines = targets.map(({ lane, promise, measured, held, counts }) =>
    row(promise, lane, measured, held ? 'held' : counts ? '**missed**' : 'missed (does not count)'),
  );
  return [row(...columns), row(...columns.map(() => '---')), ...lines].join('\n');
}

function steadyCells({ start, half, full, end, saturated, halfRate, ...rest }: Steady, peaks: LaneResult['peaks']): string[] {
  return [
    [start.resident, peaks.resident, full.resident].map(mib).join(' → '),
    [start.liveHeap, half.liveHeap, full.liveHeap].map(mib).join(' / '),
    `${signed(mib(heapGrowth({ start, half, full, end, saturated, halfRate, ...rest })))} MiB`,
    [start.descriptors, peaks.descriptors, full.descriptors, end.descriptors].join(' → '),
    [start.children, peaks.children, full.children, end.children].join(' → '),
    loopCell(saturated),
    `${loopCell(halfRate.loop)} (${halfRate.perSecond.toFixed(0)}/s)`,
    `${megabytes(full.database)} MB, ${megabytes(peaks.log)} MB`,
  ];
}

function loopCell({ p50, p99, max }: LoopDelay): string {
  return `${p50.toFixed(1)} / ${p99.toFixed(0)} / ${max.toFixed(0)} ms`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
