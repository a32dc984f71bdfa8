/** A gateway of the tests: opens restricted sandboxes, runs commands in them, and has its parent answer questions about hosts. */
import type { ConnectionAnswer, ConnectionAsker } from '../../src/core/egress.ts';
import type { ExecHandle, OpenSandbox } from '../../src/core/sandbox.ts';
import { EgressThread } from '../../src/egress/thread.ts';
import { backendOf } from '../backends.ts';
import { rulesOf } from '../egress/session-rig.ts';
import type { AskingEvent, Beginning, Numbered } from './asking-messages.ts';

const { kind, context } = JSON.parse(process.argv[2] ?? '') as Beginning;
let rules = rulesOf([]);
const egress = new EgressThread(() => rules);
const backend = backendOf(kind, { ...context, egress });
const sandboxes = new Map<string, OpenSandbox>();
const handles = new Map<number, ExecHandle>();
const asks = new Map<number, PromiseWithResolvers<ConnectionAnswer>>();
let checkAnswer: ConnectionAnswer = { allowed: true, until: 'revoked' };
let lastAsk = 0;

const tell = (event: AskingEvent): void => void process.send?.(event);

const askerOf =
  (run: number): ConnectionAsker =>
  async (request, { left, isCheck }) => {
    lastAsk += 1;
    const ask = lastAsk;
    tell({ event: 'asked', ask, run, request, isCheck });
    if (isCheck) return checkAnswer;
    left.addEventListener('abort', () => tell({ event: 'left', ask }));
    const waiting = Promise.withResolvers<ConnectionAnswer>();
    asks.set(ask, waiting);
    return await waiting.promise;
  };

async function follow(run: number, handle: ExecHandle): Promise<void> {
  const texts = { stdout: '', stderr: '' };
  for await (const { stream, data } of handle.output) {
    texts[stream] += data.toString();
    tell({ event: 'output', run, text: data.toString() });
  }
  tell({ event: 'ended', run, ...texts, exit: await handle.exit, connections: await handle.connections() });
}

async function obey(order: Numbered): Promise<void> {
  switch (order.order) {
    case 'open': {
      const sandbox = await backend.open(order.spec, { notice: () => undefined, progress: () => undefined });
      sandboxes.set(order.spec.name, sandbox);
      return;
    }
    case 'run': {
      const asker = order.hasAsker ? { askToConnect: askerOf(order.run) } : {};
      const handle = await sandboxes.get(order.sandbox)?.exec({ command: order.command, ...asker });
      if (!handle) throw new Error('no such sandbox');
      handles.set(order.run, handle);
      void follow(order.run, handle);
      return;
    }
    case 'kill':
      await handles.get(order.run)?.kill('KILL');
      return;
    case 'answer':
      if (order.answer) asks.get(order.ask)?.resolve(order.answer);
      else asks.get(order.ask)?.reject(new Error('a bug'));
      return;
    case 'rules':
      rules = { ...rulesOf(order.rules.allow, order.rules.deny), notesAllowed: order.rules.notesAllowed };
      egress.rulesChanged();
      return;
    case 'checks':
      checkAnswer = order.answer;
      return;
    case 'destroy':
      await sandboxes.get(order.sandbox)?.destroy();
      return;
    case 'stop-thread':
      await egress.stop();
  }
}

process.on('message', async (order: Numbered) => {
  const failure = await obey(order).then(
    () => undefined,
    (error: Error) => error.message,
  );
  tell({ event: 'done', id: order.id, failure });
});
process.once('disconnect', () => process.exit());
