import type { OutgoingFile, Person, Place } from '../../core/channel.ts';
import type { Role } from '../access.ts';

/** The reply to a command. */
export interface Reply {
  text: string;
  file?: OutgoingFile | undefined;
}

/** The controls of a session, for commands typed in its chat. */
export interface SessionControls {
  /** Ends the turn that runs, with everything it runs, and withdraws its questions. False when nothing ran. */
  stop(): Promise<boolean>;
  /** Begins a new conversation, without the transcript, grants and choices of the last one. */
  reset(): Promise<void>;
  /** Hands the person's last message to the agent again. False when there is none. */
  retry(): Promise<boolean>;
  /** Queues a text for the next turn, or hands it to the one that runs. */
  queue(text: string): Promise<void>;
  steer(text: string): Promise<boolean>;
  /** Runs a tool as the person who asked, judged like every call. Resolves with the reply. */
  runTool(name: string, input: unknown): Promise<Reply>;
  status(): Promise<string>;
  usage(): Promise<string>;
  files(path: string): Promise<Reply>;
  /** The model in use; with a name, from now on that one. */
  model(name: string | undefined): Promise<string>;
  questions(): Promise<string>;
  /** Settles a question, or says why not. */
  answer(code: string, kind: 'once' | 'session' | 'always' | 'deny', remark: string | undefined): Promise<string>;
  /** What this session reaches. */
  network(): Promise<string>;
  /** Takes back answers about a host. */
  forgetHost(host: string): Promise<string>;
  setYolo(on: boolean): Promise<string>;
  /** Pairs the person who was given this code. */
  pair(code: string, role: Role): Promise<string>;
}

export interface CommandCall {
  controls: SessionControls;
  from: Person;
  place: Place;
  role: Role;
  /** The text after the name, without spaces around it. */
  rest: string;
  /** The sign that people type before the name of a command on this platform. */
  sign: string;
}

export const usualSign = '/';

/** A command that people type, which the agent does not see. */
export interface ChatCommand {
  name: string;
  /** The arguments, for the help. */
  usage: string;
  help: string;
  role: Role;
  /** Waits until no turn runs, and keeps others from beginning. */
  takesTurn: boolean;
  /** Files sent with it: they are in the sandbox before it runs, it handles them itself, or they are ignored. */
  files: 'sandbox' | 'own' | 'none';
  /** Resolves with the reply, if there is one. */
  run(call: CommandCall): Promise<string | Reply | undefined>;
}

/** `/name@bot rest`, which is for us when it names no other bot; undefined for ordinary text. */
export function parseCommand(text: string): { name: string; rest: string } | undefined {
  const [, name, rest = ''] = /^\/([A-Za-z][A-Za-z0-9_]*)(?:@\S+)?(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  return name === undefined ? undefined : { name: name.toLowerCase(), rest: rest.trim() };
}
