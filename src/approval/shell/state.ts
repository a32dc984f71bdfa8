import type { Function as FunctionNode, ParsedScript } from 'unbash';
import type { Circumstances } from '../../core/approval.ts';
import type { RuleId } from '../rules.ts';
import { fromNetwork, isFromNetwork, mostChoices, unknown } from './values.ts';

/** A finding before anybody asks where it counts. */
export interface Found {
  rule: RuleId;
  program: string | undefined;
  /** Absolute; undefined stands for a path that is not known. */
  paths: readonly (string | undefined)[];
}

/** Thrown inside when there is too much to look at; never leaves the policy. */
export class TooComplex extends Error {}

const mostSteps = 40_000;
const mostDepth = 40;

/** What files hold that the script wrote. They are the same for every part of it, so a file that is written twice may hold either text. */
class WrittenFiles {
  readonly #contents = new Map<string, readonly string[]>();

  has(path: string): boolean {
    return this.#contents.has(path);
  }

  get(path: string): readonly string[] | undefined {
    return this.#contents.get(path);
  }

  set(path: string, texts: readonly string[]): void {
    const all = [...new Set([...(this.#contents.get(path) ?? []), ...texts])];
    this.#contents.set(path, all.length > 8 ? [all.some(isFromNetwork) ? fromNetwork : unknown] : all);
  }
}

/** What all of one judgement has in common. */
export class Judgement {
  readonly circumstances: Circumstances;
  readonly found = new Map<string, Found>();
  readonly files = new WrittenFiles();
  /** Whether it names Hermetic's processes, and whether it ends processes: both together are about ending Hermetic. */
  namesHermetic = false;
  endsProcesses = false;
  #steps = 0;
  #depth = 0;
  #streams = 0;
  /** Judges parsed bash; what it prints, as far as that is known. Set once by whoever ties the parts together. */
  runScript: (script: ParsedScript, state: State, stdin: readonly string[]) => readonly string[] = () => [unknown];
  runSource: (source: string, state: State, stdin: readonly string[]) => readonly string[] = () => [unknown];
  runFields: (fields: readonly string[], state: State, stdin: readonly string[]) => readonly string[] = () => [unknown];

  constructor(circumstances: Circumstances) {
    this.circumstances = circumstances;
  }

  report(rule: RuleId, program?: string, paths: readonly (string | undefined)[] = []): void {
    const key = `${rule}\n${program ?? ''}`;
    const before = this.found.get(key);
    this.found.set(key, { rule, program, paths: before ? [...before.paths, ...paths].slice(-200) : paths });
  }

  step(cost = 1): void {
    this.#steps += cost;
    if (this.#steps > mostSteps) throw new TooComplex();
  }

  /** Counts how deep programs start programs. */
  deeper<T>(action: () => T): T {
    if (this.#depth >= mostDepth) throw new TooComplex();
    this.#depth++;
    try {
      return action();
    } finally {
      this.#depth--;
    }
  }

  /** A path for what a process substitution prints. */
  streamPath(): string {
    return `/dev/fd/${60 + this.#streams++}`;
  }
}

/** What the shell would know at one point of the script. A variable has every value it could have. */
export class State {
  readonly judgement: Judgement;
  variables: Map<string, readonly string[]>;
  arrays: Map<string, readonly string[]>;
  functions: Map<string, FunctionNode>;
  aliases: Map<string, string>;
  /** Of the function that runs, or undefined when nobody knows them. */
  parameters: readonly string[] | undefined;
  callers: readonly string[] = [];
  /** Where it was when the first of several calls of a function began. */
  calledFrom: ReadonlyMap<string, readonly string[]> = new Map();
  /** What directories still are if the last `cd` failed, as far as that matters. */
  ifFailed: ReadonlyMap<string, readonly string[]> = new Map();
  /** Nothing after this point of the branch runs. */
  ended = false;

  constructor(judgement: Judgement, cwd: string) {
    this.judgement = judgement;
    this.variables = new Map([
      ['PWD', [cwd]],
      ['HOME', [judgement.circumstances.home]],
    ]);
    this.arrays = new Map();
    this.functions = new Map();
    this.aliases = new Map();
  }

  get circumstances(): Circumstances {
    return this.judgement.circumstances;
  }

  get files(): WrittenFiles {
    return this.judgement.files;
  }

  get workingDirectories(): readonly string[] {
    return this.variables.get('PWD') ?? [unknown];
  }

  fork(): State {
    this.judgement.step(1 + this.variables.size / 20);
    const copy = new State(this.judgement, '');
    copy.variables = new Map(this.variables);
    copy.arrays = new Map(this.arrays);
    copy.functions = new Map(this.functions);
    copy.aliases = new Map(this.aliases);
    copy.parameters = this.parameters;
    copy.callers = this.callers;
    copy.calledFrom = this.calledFrom;
    copy.ifFailed = this.ifFailed;
    return copy;
  }

  /** Goes on where nobody asked whether the last `cd` succeeded. */
  settle(): void {
    for (const [name, values] of this.ifFailed) this.variables.set(name, unionOf([this.variables.get(name) ?? [unknown], values]));
    this.ifFailed = new Map();
  }

  /** Whichever of these ways was taken. */
  become(ways: readonly State[]): void {
    const open = ways.filter(({ ended }) => !ended);
    const states = open.length > 0 ? open : ways;
    this.judgement.step(states.reduce((sum, { variables }) => sum + variables.size / 20, 1));
    this.variables = merged(states.map(({ variables }) => variables));
    this.arrays = merged(states.map(({ arrays }) => arrays));
    this.functions = new Map(states.flatMap(({ functions }) => [...functions]));
    this.aliases = new Map(states.flatMap(({ aliases }) => [...aliases]));
    this.ifFailed = unionByName(states.map(({ ifFailed }) => ifFailed));
    this.ended = open.length === 0 && ways.length > 0;
  }
}

/** Each once, or that it may be anything when they are too many. */
export function unionOf(lists: readonly (readonly string[])[]): readonly string[] {
  return limited([...new Set(lists.flat())]);
}

export function unionByName(maps: readonly ReadonlyMap<string, readonly string[]>[]): Map<string, readonly string[]> {
  const result = new Map<string, readonly string[]>();
  for (const map of maps) for (const [name, values] of map) result.set(name, unionOf([result.get(name) ?? [], values]));
  return result;
}

function merged(maps: readonly ReadonlyMap<string, readonly string[]>[]): Map<string, readonly string[]> {
  const result = new Map<string, readonly string[]>();
  for (const map of maps) {
    for (const [name, values] of map) {
      const before = result.get(name);
      if (!before || before === values) result.set(name, values);
      else result.set(name, limited([...new Set([...before, ...values])]));
    }
  }
  // A variable that only some ways set may also have the value nobody knows.
  for (const [name, values] of result) {
    if (maps.some((map) => !map.has(name)) && !values.includes(unknown)) result.set(name, limited([...values, unknown]));
  }
  return result;
}

function limited(values: readonly string[]): readonly string[] {
  return values.length > mostChoices ? [unknown] : values;
}
