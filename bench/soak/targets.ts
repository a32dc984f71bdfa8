import type { LaneResult, Steady } from './result.ts';

/** One promise, and whether it held in one lane. */
export interface Target {
  lane: string;
  promise: string;
  measured: string;
  held: boolean;
  /** Whether the run fails when it was missed. Times depend on what else the machine does. */
  counts: boolean;
}

const mebibyte = 1024 * 1024;
const perMessages = 10_000;
/** With fewer, what is seen is no trend: the program has not done everything once. */
const fewMessages = 2000;
const maxHeapGrowth = mebibyte;
const maxRestGrowth = 1.1;
const maxLoop = { p99: 50, max: 250 };
const maxLogBytes = 16_000_000;
const maxToolHeap = 10 * mebibyte;
/** Connections that are just being opened or closed. */
const spareDescriptors = 4;

export const mib = (bytes: number): string => (bytes / mebibyte).toFixed(1);
export const signed = (text: string): string => (text.startsWith('-') ? text : `+${text}`);

export function targetsOf(result: LaneResult): Target[] {
  const { name: lane, lost, doubled, peaks, steady } = result;
  return [
    { lane, promise: '0 lost', measured: String(lost), held: lost === 0, counts: true },
    { lane, promise: '0 unmarked doubles', measured: String(doubled), held: doubled === 0, counts: true },
    { lane, promise: 'WAL ≤ 16 MB', measured: `${(peaks.log / 1e6).toFixed(1)} MB`, held: peaks.log <= maxLogBytes, counts: false },
    ...(steady ? steadyTargets(lane, steady) : []),
  ];
}

/** Of the live heap in the second half, for so many messages; that of fewer messages is not scaled up. */
export function heapGrowth({ half, full, secondHalf }: Steady): number {
  return (full.liveHeap - half.liveHeap) / Math.max(1, secondHalf / perMessages);
}

function steadyTargets(lane: string, steady: Steady): Target[] {
  const { start, half, full, end, halfRate, calls } = steady;
  const growth = heapGrowth(steady);
  const restGrowth = full.resident / half.resident;
  const { loop } = halfRate;
  const isBack = end.descriptors <= start.descriptors + spareDescriptors && end.children <= start.children;
  const isEven = full.descriptors <= half.descriptors + spareDescriptors && full.children <= half.children;
  return [
    {
      lane,
      promise: 'live heap ≤ +1 MiB for 10,000 messages of the second half',
      measured: `${signed(mib(growth))} MiB`,
      held: growth <= maxHeapGrowth,
      counts: steady.secondHalf >= fewMessages,
    },
    {
      lane,
      promise: 'RSS at rest ≤ +10 % over the rest before',
      measured: `${signed(((restGrowth - 1) * 100).toFixed(1))} %`,
      held: restGrowth <= maxRestGrowth,
      counts: false,
    },
    {
      lane,
      promise: 'descriptors and children: the same at both rests, and at the end as at the start',
      measured: `${start.descriptors}, ${half.descriptors}, ${full.descriptors}, ${end.descriptors}; ${start.children}, ${half.children}, ${full.children}, ${end.children}`,
      held: isBack && isEven,
      counts: true,
    },
    {
      lane,
      promise: `event loop at half the rate: p99 ≤ ${maxLoop.p99} ms, max ≤ ${maxLoop.max} ms`,
      measured: `${loop.p99.toFixed(0)} ms, ${loop.max.toFixed(0)} ms`,
      held: loop.p99 <= maxLoop.p99 && loop.max <= maxLoop.max,
      counts: false,
    },
    ...(calls
      ? [
          {
            lane,
            promise: `live heap after ${calls.calls} tool calls ≤ 10 MiB above that after ${calls.plain} plain messages`,
            measured: `${signed(mib(calls.after.liveHeap - calls.before.liveHeap))} MiB`,
            held: calls.after.liveHeap - calls.before.liveHeap <= maxToolHeap,
            counts: true,
          },
        ]
      : []),
  ];
}
