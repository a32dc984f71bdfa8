import type { Function as FunctionNode } from 'unbash';
import type { JudgeContext } from '../core/approval.ts';
import { MadeFiles } from './made-files.ts';
import type { Programs } from './tables/program.ts';
import type { RuleId } from './tables/rules.ts';
import { maxChoices, stream, unknown } from './values.ts';

/** A finding before it is known whether it counts. */
export interface Found {
  rule: RuleId;
  /** Program and subcommand, as far as they are known. */
  program: string | undefined;
  /** The path, option or name it is about. */
  target: string | undefined;
  /** Absolute; undefined stands for a path that is not known. */
  paths: readonly (string | undefined)[];
}

/** Thrown inside when there is too much to look at; never leaves the judge. */
export class TooComplex extends Error {}

const maxSteps = 40_000;
const maxDepth = 40;
const maxFindings = 200;

/** Shared by all parts of one judgement. */
export class Judgement {
  readonly context: JudgeContext;
  /** Rows of the owner, which come before those of the tables. */
  readonly added: Programs;
  readonly found = new Map<string, Found>();
  /** Files that the command writes or fetches, or earlier ones brought. */
  readonly files: MadeFiles;
  /** It makes a symbolic link, so that `..` may lead elsewhere. */
  makesLink = false;
  /** A pattern that matches nothing is no word. */
  dropsPatterns = false;
  /** Commands that traps run. */
  readonly traps: string[] = [];
  /** The output of process substitutions, by the path that stands for them. */
  readonly streams = new Map<string, readonly string[]>();
  /** It names Hermetic's processes, and it ends processes: both together are about ending Hermetic. */
  namesHermetic = false;
  endsProcesses = false;
  #steps = 0;
  #depth = 0;

  constructor(context: JudgeContext, added: Programs) {
    this.context = context;
    this.added = added;
    this.files = new MadeFiles(context.brought ?? []);
  }

  /** Security: a link that the command makes may lead to a file that it makes. */
  get linksMade(): boolean {
    return this.makesLink && this.files.written.size + this.files.downloaded.size > 0;
  }

  report(rule: RuleId, program?: string, target?: string, path?: string): undefined {
    const key = `${rule}\n${program ?? ''}\n${target ?? ''}`;
    const before = this.found.get(key);
    if (!before && this.found.size >= maxFindings) throw new TooComplex();
    this.found.set(key, { rule, program, target, paths: [...(before?.paths ?? []), path].slice(-maxFindings) });
  }

  streamOf(printed: readonly string[]): string {
    const path = `/dev/fd/${stream}${this.streams.size}`;
    this.streams.set(path, printed);
    return path;
  }

  step(cost = 1): void {
    this.#steps += cost;
    if (this.#steps > maxSteps) throw new TooComplex();
  }

  /** Counts that a list is looked through, which is less than to make words of it. */
  lookThrough(list: readonly string[] | undefined): void {
    this.step((list?.length ?? 0) / 50);
  }

  /** Counts how deep programs start programs. */
  deeper<T>(action: () => T): T {
    if (this.#depth >= maxDepth) throw new TooComplex();
    this.#depth++;
    try {
      return action();
    } finally {
      this.#depth--;
    }
  }
}

interface Frame {
  saved: Map<string, readonly string[]>;
  returns: Shell[];
}

type Values = ReadonlyMap<string, readonly string[]>;

/** The state of the shell at one point of the command. A variable has every value it could have. */
export class Shell {
  readonly judgement: Judgement;
  variables: Map<string, readonly string[]>;
  arrays = new Map<string, readonly string[]>();
  functions = new Map<string, FunctionNode>();
  aliases = new Map<string, string>();
  exported = new Set<string>();
  /** Of the function that runs; undefined: not known. */
  parameters: readonly string[] | undefined;
  callers: readonly string[] = [];
  /** The variables as they are if the last `cd` failed. */
  ifFailed: Values = new Map();
  /** Names that cannot be set again. */
  readonlyNames = new Set<string>();
  /** Variables that the running function has declared local, with the values from before, and where it returns. */
  frame: Frame = { saved: new Map(), returns: [] };
  /** Where the loop that runs is left; undefined: there is none. */
  exits: Shell[] | undefined;
  /** Another descriptor was made its standard input. */
  hasOtherInput = false;
  /** A child has no functions of the session. */
  isChild = false;
  /** In a loop of which it is not known that it has few rounds. */
  repeats = false;
  /** Nothing after this point of the branch runs. */
  ended = false;

  constructor(judgement: Judgement, cwd: string) {
    this.judgement = judgement;
    this.variables = new Map([
      ['PWD', [cwd]],
      ['HOME', [judgement.context.home]],
    ]);
  }

  get context(): JudgeContext {
    return this.judgement.context;
  }

  get workingDirectories(): readonly string[] {
    return this.variables.get('PWD') ?? [unknown];
  }

  fork(): Shell {
    this.judgement.step(1 + this.variables.size / 20);
    const copy = new Shell(this.judgement, '');
    copy.variables = new Map(this.variables);
    copy.arrays = new Map(this.arrays);
    copy.functions = new Map(this.functions);
    copy.aliases = new Map(this.aliases);
    copy.exported = new Set(this.exported);
    copy.parameters = this.parameters;
    copy.callers = this.callers;
    copy.ifFailed = this.ifFailed;
    copy.repeats = this.repeats;
    copy.readonlyNames = new Set(this.readonlyNames);
    copy.frame = this.frame;
    copy.exits = this.exits;
    copy.hasOtherInput = this.hasOtherInput;
    copy.isChild = this.isChild;
    return copy;
  }

  /** A shell that this one starts: it has what is exported, and nothing else of it. */
  child(): Shell {
    const child = this.fork();
    for (const name of child.variables.keys())
      if (!this.exported.has(name) && name !== 'PWD' && name !== 'HOME') child.variables.set(name, ['', unknown]);
    for (const name of child.arrays.keys()) child.variables.set(name, ['', unknown]);
    child.variables.delete('IFS');
    child.arrays = new Map();
    child.functions = new Map();
    child.aliases = new Map();
    child.parameters = [];
    child.callers = [];
    child.exits = undefined;
    child.isChild = true;
    return child;
  }

  /** Sets a variable. What is read-only may keep the value it has, and an array its other elements. */
  set(name: string, values: readonly string[]): void {
    const elements = this.arrays.get(name);
    if (elements) {
      this.arrays.delete(name);
      this.variables.set(name, unionOf([elements, values]));
    } else this.variables.set(name, this.readonlyNames.has(name) ? unionOf([this.variables.get(name) ?? [unknown], values]) : values);
  }

  /** Declares a variable that ends with the function. */
  declareLocal(name: string): void {
    if (!this.frame.saved.has(name)) this.frame.saved.set(name, this.variables.get(name) ?? this.arrays.get(name) ?? [unknown]);
  }

  /** Goes on where it was not asked whether the last `cd` succeeded. */
  settle(): void {
    for (const [name, values] of this.ifFailed) this.variables.set(name, unionOf([this.variables.get(name) ?? [unknown], values]));
    this.ifFailed = new Map();
  }

  /** One of these ways was taken. */
  become(ways: readonly Shell[]): void {
    const open = ways.filter(({ ended }) => !ended);
    const shells = open.length > 0 ? open : ways;
    this.judgement.step(shells.reduce((sum, { variables }) => sum + variables.size / 20, 1));
    this.variables = merged(shells.map(({ variables }) => variables));
    // Where ways differ in an array, which element stands where is not known.
    const arrays = shells.map((one) => one.arrays);
    this.arrays = new Map();
    for (const name of new Set(arrays.flatMap((map) => [...map.keys()]))) {
      const elements = arrays[0]?.get(name);
      if (elements && arrays.every((map) => isSame(map.get(name), elements))) this.arrays.set(name, elements);
      else this.variables.set(name, unionOf([this.variables.get(name) ?? [], ...arrays.map((map) => map.get(name) ?? []), [unknown]]));
    }
    // Security: where two ways define a function differently, calling it is asked about.
    this.functions = new Map(shells.flatMap(({ functions }) => [...functions]));
    for (const [name, one] of this.functions) {
      if (shells.some(({ functions }) => functions.get(name) !== one)) this.judgement.report('shell/unresolved-command', undefined, name);
    }
    this.aliases = new Map(shells.flatMap(({ aliases }) => [...aliases]));
    this.exported = new Set(shells.flatMap(({ exported }) => [...exported]));
    this.readonlyNames = new Set(shells.flatMap(({ readonlyNames }) => [...readonlyNames]));
    this.hasOtherInput = shells.some(({ hasOtherInput }) => hasOtherInput);
    const [first] = shells;
    this.parameters = shells.every(({ parameters }) => isSame(parameters, first?.parameters)) ? first?.parameters : undefined;
    this.ifFailed = unionByName(shells.map(({ ifFailed }) => ifFailed));
    this.ended = open.length === 0 && ways.length > 0;
  }
}

function isSame(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  return one === other || (one?.length === other?.length && one?.every((text, at) => text === other?.[at]) === true);
}

/** Each once, or that it may be anything when they are too many. */
export function unionOf(lists: readonly (readonly string[])[]): readonly string[] {
  return limited([...new Set(lists.flat())]);
}

export function unionByName(maps: readonly Values[]): Map<string, readonly string[]> {
  const result = new Map<string, readonly string[]>();
  for (const map of maps) for (const [name, values] of map) result.set(name, unionOf([result.get(name) ?? [], values]));
  return result;
}

function merged(maps: readonly Values[]): Map<string, readonly string[]> {
  const result = unionByName(maps);
  // A variable that only some ways set may also have the value it had before, which is not known.
  for (const [name, values] of result) {
    if (maps.some((map) => !map.has(name))) result.set(name, unionOf([values, [unknown]]));
  }
  return result;
}

function limited(values: readonly string[]): readonly string[] {
  return values.length > maxChoices ? [unknown] : values;
}
