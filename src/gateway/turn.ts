import { turnProgress } from '../agent/turn-progress.ts';
import type { Turn, TurnInput } from '../core/agent.ts';
import type { ChatSession } from './session.ts';
import { resetIsDue, resetText } from './sessions/reset.ts';
import { factsOf } from './turns/facts.ts';
import { whereFilesAre } from './turns/incoming-files.ts';
import { inputOf, originOf, steeringInput } from './turns/input.ts';
import type { RunningTurn } from './turns/running-turn.ts';
import { TurnDisplay } from './turns/turn-display.ts';

/** Answers the messages of a turn. Resolves when everything there is to say is stored; rejects when it cannot be recorded. */
export async function runTurn(session: ChatSession, turn: RunningTurn): Promise<void> {
  await beginConversation(session, turn);
  await remindOfYolo(session, turn);
  const input = await Promise.all(turn.messages.map(({ message }) => inputOf(session, message)));
  try {
    // Nothing was recorded of it yet.
    await askAgent(session, turn, input, []);
  } catch (error) {
    await sayWhereFilesAre(session, turn, input);
    throw error;
  }
}

/** Continues a turn that an earlier program began: its input is in the transcript. */
export async function resumeTurn(session: ChatSession, turn: RunningTurn): Promise<void> {
  const { conversations } = session.deps.store;
  // All of the turn, also what was summed up: the number of an answer is part of its key, and must not be given twice.
  await askAgent(session, turn, [], await conversations.readTurn(session.id.parts, turn.id));
}

/** `recorded`: the messages of the turn that are in the transcript. */
async function askAgent(session: ChatSession, turn: RunningTurn, input: readonly TurnInput[], recorded: readonly unknown[]): Promise<void> {
  const { agent, settings, store } = session.deps;
  const { parts } = session.id;
  const progress = turnProgress(recorded);
  const display = new TurnDisplay(session, turn, progress.answers.length);
  try {
    const present = await store.conversations.present(parts);
    const { facts, newDay } = await factsOf(session, turn, present);
    const { undelivered } = present.entry;
    const result = await agent.run({
      model: await session.model(present.entry.choices),
      history: present.messages,
      input: input.map((one, index) => (index === 0 ? { ...one, day: newDay, undelivered } : one)),
      facts,
      tools: session.tools.tools,
      ...toolCalls(session, turn, display),
      ...transcript(session, turn),
      steer: steeringInput(session, turn, progress.inputs + (input.length > 0 ? 1 : 0)),
      listener: (event) => display.hear(event),
      signal: turn.controller.signal,
      maxSteps: settings.maxSteps,
    });
    // From here on it is in the transcript.
    if (undelivered !== undefined && input.length > 0) await store.conversations.toldUndelivered(parts, undelivered);
    await display.conclude(result);
  } finally {
    await display.end();
  }
}

/** Begins a new conversation when the last one is too old. */
async function beginConversation(session: ChatSession, turn: RunningTurn): Promise<void> {
  const { store, settings } = session.deps;
  const { id, title, place } = session;
  const now = new Date();
  const entry = await store.conversations.session(id.parts, { title, place }, now);
  if (resetIsDue(entry, settings.reset, now)) {
    await session.resetConversation('hermetic');
    await session.deps.outbox.deliver(place, `reset/${turn.id}`, resetText(entry, settings.reset, now));
  }
  await store.conversations.active(id.parts, now);
}

async function remindOfYolo(session: ChatSession, turn: RunningTurn): Promise<void> {
  const { approvals, outbox } = session.deps;
  const { person, others = [], role } = originOf(session, turn.messages);
  const yolo = role === 'admin' && others.length === 0 ? await approvals.yolo(session.id.parts) : [];
  if (!yolo.some(({ by }) => by === person)) return;
  await outbox.deliver(session.place, `yolo/${turn.id}`, 'Approvals are off for you in this session. Turn them on with /yolo off.');
}

/** The model did not get the paths of the files, so the person who sent them does. */
async function sayWhereFilesAre({ deps, place }: ChatSession, turn: RunningTurn, input: readonly TurnInput[]): Promise<void> {
  const text = whereFilesAre(input.flatMap(({ files = [] }) => files));
  if (text !== '' && !turn.isParked) await deps.outbox.deliver(place, `files/${turn.messages[0]?.entry.seq}`, text);
}

function toolCalls(session: ChatSession, turn: RunningTurn, display: TurnDisplay): Pick<Turn, 'call' | 'takeUp'> {
  const { deps, id, tools } = session;
  const call: Turn['call'] = (name, input, { callId, signal, progress }) =>
    tools.call(name, input, {
      run: `${turn.id}/${callId}`,
      origin: { ...originOf(session, turn.messages, turn.steered), turn: turn.id },
      signal,
      progress,
    });
  return {
    call: async (...given) => {
      // People can read what the model said before its calls run.
      await display.shown();
      return await call(...given);
    },
    // A question is asked before anything happens, so a call that still has one has not begun.
    takeUp: async (name, input, options) => {
      const question = await deps.approvals.notBegun(id.parts, `${turn.id}/${options.callId}`);
      return question === 'waiting' ? await call(name, input, options) : undefined;
    },
  };
}

function transcript({ deps, id, tools }: ChatSession, turn: RunningTurn): Pick<Turn, 'record' | 'summarise'> {
  const { conversations } = deps.store;
  return {
    record: async (messages, usage) => {
      const { answers, kind } = turnProgress(messages);
      // Half an answer is none: the next program asks for all of it.
      if (turn.isParked && answers.length > 0) return;
      // Calls of tools must be on disk before they run. Everything else is on disk before people see it.
      await conversations.append(id.parts, turn.id, messages, new Date(), { sync: kind === 'calling' ? 'now' : 'later', usage });
    },
    summarise: async (count, summary, usage) => {
      // As it is now: an earlier summary of this turn has changed what is counted.
      const upTo = (await conversations.read(id.parts))[count - 1]?.seq;
      const isStored = upTo !== undefined && (await conversations.summarise(id.parts, upTo, summary, new Date()));
      if (!isStored) throw new Error('the transcript is not what was summed up');
      tools.forgetTold();
      await conversations.addUsage(id.parts, usage);
    },
  };
}
