import { relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Inspector } from './inspector.ts';

/** A function of our source that was called, and where its first statement is. */
export interface CalledFunction {
  /** Relative to the root. */
  file: string;
  name: string;
  isAsync: boolean;
  count: number;
  location: { lineNumber: number; columnNumber: number } | undefined;
}

/** One function calls another. `from` is undefined when none of our functions is on the stack, as in a handler of an event. */
export interface Call {
  from: { file: string; name: string } | undefined;
  to: CalledFunction;
}

interface Coverage {
  result: {
    scriptId: string;
    url: string;
    functions: { functionName: string; ranges: { startOffset: number; endOffset: number; count: number }[] }[];
  }[];
}

interface Frame {
  file: string;
  name: string;
  isModule: boolean;
}

/** Runs in the measured process: reports each different pair of callee and caller once, when it comes first. */
const recorder = (source: string): string => `
  const reported = new Set();
  globalThis.hermeticCalled = (id) => {
    const { prepareStackTrace, stackTraceLimit } = Error;
    Error.stackTraceLimit = 300;
    Error.prepareStackTrace = (_, sites) => sites
      .filter((site) => site.getFileName()?.startsWith(${JSON.stringify(source)}))
      .map((site) => ({
        file: site.getFileName(),
        name: site.getFunctionName() ?? '',
        isModule: site.getFunctionName() === null && site.getEnclosingLineNumber() === 1 && site.getEnclosingColumnNumber() === 1,
      }));
    const [, ...callers] = new Error().stack;
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
    if (callers.some(({ isModule }) => isModule)) return false;
    const report = JSON.stringify({ id, caller: callers[0] });
    if (!reported.has(report)) hermeticReport(report);
    reported.add(report);
    return false;
  };`;

/** Finds out which functions below a directory are called, and by whom. */
export class CallRecorder {
  readonly #inspector: Inspector;
  readonly #root: string;
  readonly #source: string;
  readonly #calls: Call[] = [];

  constructor(inspector: Inspector, root: string) {
    this.#inspector = inspector;
    this.#root = root;
    this.#source = `${pathToFileURL(root).href}/`;
  }

  async startCounting(): Promise<void> {
    await this.#inspector.send('Debugger.enable');
    await this.#inspector.send('Profiler.enable');
    await this.#inspector.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** The functions that were called since the last time; the body of a module is none of them. */
  async takeCalled(): Promise<CalledFunction[]> {
    const { result } = await this.#inspector.send<Coverage>('Profiler.takePreciseCoverage');
    const called: CalledFunction[] = [];
    for (const { scriptId, url, functions } of result.filter((script) => script.url.startsWith(this.#source))) {
      const { scriptSource } = await this.#inspector.send<{ scriptSource: string }>('Debugger.getScriptSource', { scriptId });
      const lineStarts = [0, ...[...scriptSource.matchAll(/\n/g)].map(({ index }) => index + 1)];
      for (const { functionName: name, ranges } of functions) {
        const { startOffset, endOffset, count } = ranges[0] as (typeof ranges)[number];
        if (count === 0 || (name === '' && startOffset === 0)) continue;
        const [start, end] = [positionOf(lineStarts, startOffset), positionOf(lineStarts, endOffset)];
        const { locations } = await this.#inspector.send<{ locations: NonNullable<CalledFunction['location']>[] }>(
          'Debugger.getPossibleBreakpoints',
          { start: { scriptId, ...start }, end: { scriptId, ...end }, restrictToFunction: true },
        );
        // V8 runs `super` a second time when a condition is evaluated before it.
        const isDerived = scriptSource.slice(startOffset, endOffset).includes('super(');
        called.push({
          file: this.#fileOf(url),
          name,
          isAsync: isAsync(scriptSource, startOffset),
          count,
          location: isDerived ? undefined : locations[0],
        });
      }
    }
    return called;
  }

  async stopCounting(): Promise<void> {
    await this.#inspector.send('Profiler.stopPreciseCoverage');
  }

  /** From now on each call of these functions is recorded with its caller. */
  async startRecording(functions: readonly CalledFunction[]): Promise<void> {
    await this.#inspector.send('Debugger.enable');
    await this.#inspector.send('Runtime.enable');
    this.#inspector.on('Runtime.bindingCalled', ({ payload }: { payload: string }) => {
      const { id, caller } = JSON.parse(payload) as { id: number; caller?: Frame };
      const from = caller && { file: this.#fileOf(caller.file), name: caller.name };
      this.#calls.push({ from, to: functions[id] as CalledFunction });
    });
    await this.#inspector.send('Runtime.addBinding', { name: 'hermeticReport' });
    await this.#inspector.evaluate(recorder(this.#source));
    for (const [id, { file, location }] of functions.entries()) {
      if (!location) continue;
      const { lineNumber, columnNumber } = location;
      // The condition is never true: it is evaluated at each call, and nothing stops.
      const condition = `globalThis.hermeticCalled(${id})`;
      await this.#inspector.send('Debugger.setBreakpointByUrl', { url: this.#source + file, lineNumber, columnNumber, condition });
    }
  }

  /** Each different call so far, in the order in which they came first. Calls while a module loads are left out. */
  async takeCalls(): Promise<Call[]> {
    // Its answer comes after everything that was reported before.
    await this.#inspector.send('Debugger.enable');
    return this.#calls;
  }

  #fileOf(url: string): string {
    return relative(this.#root, fileURLToPath(url));
  }
}

function positionOf(lineStarts: readonly number[], offset: number): { lineNumber: number; columnNumber: number } {
  const lineNumber = lineStarts.findLastIndex((start) => start <= offset);
  return { lineNumber, columnNumber: offset - (lineStarts[lineNumber] ?? 0) };
}

/** The range of a method begins at its parentheses or its name, that of any other function at its first word. */
function isAsync(source: string, start: number): boolean {
  return source.startsWith('async', start) || /\basync\s+[*#\w$\s]*$/.test(source.slice(Math.max(0, start - 80), start));
}
