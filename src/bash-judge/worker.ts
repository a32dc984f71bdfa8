import { parentPort } from 'node:worker_threads';
import { judge } from './judge.ts';
import type { Answer, Request } from './thread.ts';

/** Judges what `JudgeThread` sends, one action at a time. */
parentPort?.on('message', ({ action, context, programs }: Request) => {
  answer(judge(action, context, programs));
});

answer(undefined);

function answer(verdict: Answer['verdict']): void {
  parentPort?.postMessage({ verdict, usage: process.threadCpuUsage() } satisfies Answer);
}
