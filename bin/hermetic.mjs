#!/usr/bin/env node
// Runs on any Node from 20 on and finds the Node the program itself needs.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { heapArguments } from './heap-limit.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isClone = existsSync(join(root, 'src'));
const pinnedNode = join(root, 'node_modules', 'node', 'bin', 'node');
const neededMajor = 24;
const flushAfterMs = 5000;

await prepareClone();
if (Number.parseInt(process.versions.node, 10) >= neededMajor) await runHere();
else if (existsSync(pinnedNode)) runOnPinnedNode();
else {
  console.error(`hermetic needs Node ${neededMajor} or newer; this is Node ${process.versions.node}.`);
  process.exitCode = 2;
}

async function prepareClone() {
  if (!isClone || existsSync(join(root, 'node_modules', '.package-lock.json'))) return;
  const { SetUpError, setUp } = await import(pathToFileURL(join(root, 'scripts', 'set-up.mjs')).href);
  try {
    await setUp();
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}

async function runHere() {
  limitHeap();
  endWithParent();
  // Security: only below the package itself. A cache in a directory others can write to would let them choose the code.
  module.enableCompileCache(join(root, 'node_modules', '.cache', 'hermetic'));
  // Node writes it when a process ends by itself. A gateway that is always killed would compile everything at each start, and stand still meanwhile.
  setTimeout(() => module.flushCompileCache(), flushAfterMs).unref();
  const { learnOwnCommand } = await load('lib/own-command');
  learnOwnCommand(fileURLToPath(import.meta.url), process.env.PATH);
  // The parts that take longest to load come first, each in a turn of its own, so that no turn is long.
  for (const part of ['stores/index', 'config/schema']) {
    if (existsSync(fileOf(part))) await load(part);
    await turnOfLoop();
  }
  const { main } = await load('cli/main');
  await main(process.argv.slice(2));
}

function fileOf(part) {
  return isClone ? join(root, 'src', `${part}.ts`) : join(root, 'dist', `${part}.js`);
}

function load(part) {
  return import(pathToFileURL(fileOf(part)).href);
}

/** V8 takes a limit only when it starts, so the program takes the place of this process, under the same number. */
function limitHeap() {
  const words = heapArguments();
  // An IPC channel would not survive.
  if (words.length === 0 || process.channel || !process.execve) return;
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...words, ...process.argv.slice(1)], process.env);
}

/** Ends the program when the process that started it with an IPC channel is gone, for any reason. */
function endWithParent() {
  if (!process.channel) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

function runOnPinnedNode() {
  const stdio = ['inherit', 'inherit', 'inherit', 'ipc'];
  const child = spawn(pinnedNode, [...heapArguments(), fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio });
  for (const name of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(name, (signal) => child.kill(signal));
  child.on('error', (error) => {
    console.error(`${pinnedNode} could not be started: ${error.message}`);
    process.exitCode = 2;
  });
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code);
    // Dying of the same signal tells the caller what really happened.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
