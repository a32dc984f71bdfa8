import { tracer } from '../core/trace.ts';
import type { EndRecord } from './end-channel.ts';
import type { Shell, Spawner } from './spawner.ts';

export const traceShell = tracer('shell');

/** The same, with its shells in the trace. */
export function tracedSpawner(sandbox: string, spawner: Spawner): Spawner {
  const trace = (change: () => string): void => traceShell(sandbox, change);
  void spawner.ended.then((reason) => trace(() => `has ended: ${reason}`));
  return {
    ended: spawner.ended,
    prepare: () => spawner.prepare(),
    hasLiveProcesses: async (waiting) => {
      const isAlive = await spawner.hasLiveProcesses(waiting);
      trace(() => (isAlive ? 'a process that a command left runs' : 'nothing runs'));
      return isAlive;
    },
    killAll: async () => {
      trace(() => 'everything in it is killed');
      await spawner.killAll();
    },
    spawn: (request, receive, lost) => {
      let shell: Shell | undefined;
      const tell = (change: string): void => trace(() => `shell ${shell?.mark ?? 'new'}: ${change}`);
      shell = spawner.spawn(
        request,
        (record) => {
          tell(recordText(record));
          receive(record);
        },
        (reason) => {
          tell(`lost, ${reason}`);
          lost(reason);
        },
      );
      tell(`is started (${request.mode})`);
      return shell;
    },
  };
}

function recordText(record: EndRecord): string {
  return 'code' in record ? `${record.kind} with ${record.code}` : record.kind;
}
