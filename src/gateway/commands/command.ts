import type { OutgoingFile, Person, Place } from '../../core/channel.ts';
import type { Role } from '../access.ts';

/** What there is to say. */
export interface Reply {
  text: string;
  file?: OutgoingFile | undefined;
}

/** What a command typed in a chat can do with the conversation it was typed in. */
export interface SessionControls {
  /** Ends the turn that runs, with everything it runs, and withdraws its questions. False when nothing ran. */
  stop(): Promise<boolean>;
  /** A new conversation: what was said, granted and chosen is over. */
  reset(): Promise<void>;
  /** Hands the last thing that was said to the agent again. False when there is none. */
  retry(): Promise<boolean>;
  /** Puts a text in line for the next turn, or into the one that runs. */
  queue(text: string): Promise<void>;
  steer(text: string): Promise<boolean>;
  /** Runs a tool as the person who asked, judged like everybody's. Resolves with what to say. */
  runTool(name: string, input: unknown): Promise<Reply>;
  status(): Promise<string>;
  usage(): Promise<string>;
  files(path: string): Promise<Reply>;
  /** The model in use; with a name, from now on that one. */
  model(name: string | undefined): Promise<string>;
  questions(): Promise<string>;
  /** Settles a question, or says why not. */
  answer(code: string, kind: 'once' | 'session' | 'always' | 'deny', remark: string | undefined): Promise<string>;
  setYolo(on: boolean): Promise<string>;
  /** Lets somebody in who was given this code. */
  pair(code: string, role: Role): Promise<string>;
}

export interface CommandCall {
  controls: SessionControls;
  from: Person;
  place: Place;
  role: Role;
  /** What follows the name, without spaces around it. */
  rest: string;
}

/** Something people can type that is not for the agent. */
export interface ChatCommand {
  name: string;
  /** What may follow the name. */
  usage: string;
  help: string;
  role: Role;
  /** Waits until no turn runs, and keeps others from beginning. */
  takesTurn: boolean;
  /** What becomes of files beside it: they are in the sandbox before it runs, it does something with them itself, or they are left out. */
  files: 'sandbox' | 'own' | 'none';
  /** Resolves with what to say; undefined when there is nothing to say. */
  run(call: CommandCall): Promise<string | Reply | undefined>;
}

/** `/name@bot rest`, which is for us when it names no other bot; undefined for ordinary text. */
export function parseCommand(text: string): { name: string; rest: string } | undefined {
  const [, name, rest = ''] = /^\/([A-Za-z][A-Za-z0-9_]*)(?:@\S+)?(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  return name === undefined ? undefined : { name: name.toLowerCase(), rest: rest.trim() };
}
