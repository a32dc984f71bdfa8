import { parentPort } from 'node:worker_threads';
import { judge } from './judge.ts';
import type { Request } from './thread.ts';

/** Judges what `JudgeThread` sends, one action at a time. */
parentPort?.on('message', ({ action, circumstances, programs }: Request) => {
  parentPort?.postMessage(judge(action, circumstances, programs));
});

parentPort?.postMessage('ready');
