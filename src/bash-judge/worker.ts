import { parentPort } from 'node:worker_threads';
import { judge } from './judge.ts';
import type { Request } from './thread.ts';

/** Judges what `JudgeThread` sends, one action at a time. */
parentPort?.on('message', ({ action, context, programs }: Request) => {
  parentPort?.postMessage(judge(action, context, programs));
});

parentPort?.postMessage('ready');
