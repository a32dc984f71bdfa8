/** The provider of models of `streaming.ts`, as a process of its own: it and the gateway do not wait for each other. */
import { type ModelRequest, type Reply, startModelServer } from '../test/fakes/model-server.ts';
import { type Pace, pieceCount, pieceOf } from './streaming-text.ts';

/** How far the answers are, by the messages they answer. */
export interface Progress {
  url: string;
  started: number;
  /** Those of which only the end is missing. */
  held: number;
  ended: number;
  deltas: number;
  /** Given up by the gateway. */
  broken: number;
}

const pace: Pace = JSON.parse(process.argv[2] ?? '{}');
const count = pieceCount(pace);
const progress: Progress = { url: '', started: 0, held: 0, ended: 0, deltas: 0, broken: 0 };
const { promise: released, resolve: release } = Promise.withResolvers<void>();

/** Pieces are counted when they are taken to be sent. */
function script(request: ModelRequest): Reply {
  const chat = Number(/number (\d+)\./.exec(request.messages.findLast(({ role }) => role === 'user')?.text ?? '')?.[1]);
  progress.started += 1;
  void request.disconnected.then(() => {
    progress.broken += 1;
  });
  const texts = Array.from({ length: count - 1 }, (_, index) => ({
    get text() {
      progress.deltas += 1;
      return pieceOf(chat, index);
    },
  }));
  const hold = {
    get until() {
      progress.held += 1;
      return released;
    },
  };
  const last = {
    get text() {
      progress.ended += 1;
      return pieceOf(chat, count - 1);
    },
  };
  // Not all at the same moment of each interval.
  const first = { pauseMs: Math.random() * pace.everyMs };
  return { pieces: [first, ...texts.flatMap((text) => [text, { pauseMs: pace.everyMs }]), hold, last] };
}

const server = await startModelServer(script);
progress.url = server.url;
setInterval(() => server.forget(), 1000).unref();
process.on('message', (message) => {
  if (message === 'release') release();
  process.send?.(progress);
});
process.on('disconnect', () => process.exit());
process.send?.(progress);
