// The side of execute_code that runs in Node (18 or newer): tools are functions that return promises. Frames as code.bash describes
// them; arguments and answers are JSON. Written so that an older Node understands enough of it to say that it is too old.

import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import vm from 'node:vm';

if (Number(process.versions.node.split('.')[0]) < 18) {
  const version = `${process.execPath} is Node.js ${process.versions.node}`;
  writeSync(239, `7 ${Buffer.byteLength(version)}\nmissing${version}`);
  process.exit(127);
}

const input = new Socket({ fd: 238, readable: true, writable: false });
const output = new Socket({ fd: 239, readable: false, writable: true });
output.on('error', () => undefined);
output.unref();
// A process that the script forks must not become a second harness.
process.execArgv = [];

class ToolError extends Error {
  name = 'ToolError';
  constructor(text, failure) {
    super(text);
    Object.defineProperty(this, 'failure', { value: failure });
  }
}

const file = resolve('script.mjs');
let unread = Buffer.alloc(0);
let source = '';
let settled = false;
let last = 0;
let maxBytes = 0;
const pending = new Map();

input.on('data', (piece) => {
  unread = Buffer.concat([unread, piece]);
  for (let fields = nextFrame(); fields; fields = nextFrame()) {
    if (source === '') void begin(fields);
    else settle(fields);
  }
});
input.on('close', () => {
  for (const id of [...pending.keys()]) settle([id, 'interrupted', 'the host no longer answers']);
});
input.on('error', () => undefined);

function nextFrame() {
  let at = unread.indexOf('\n') + 1;
  if (at === 0) return undefined;
  const lengths = unread
    .toString('latin1', 0, at - 1)
    .split(' ')
    .map(Number);
  if (unread.length < lengths.reduce((sum, length) => sum + length, at)) return undefined;
  const fields = [];
  for (const length of lengths) {
    fields.push(unread.toString('utf8', at, at + length));
    at += length;
  }
  unread = unread.subarray(at);
  return fields;
}

function settle([id, outcome, text]) {
  const call = pending.get(id);
  if (!call) return;
  pending.delete(id);
  // Only a pending call keeps the script alive.
  if (pending.size === 0) input.unref();
  if (outcome === 'ok') {
    call.resolve(JSON.parse(text));
    return;
  }
  const error = new ToolError(text, outcome);
  error.stack = `${error.name}: ${text}\n${String(call.place.stack).split('\n').slice(1).join('\n')}`;
  call.reject(error);
}

function callTool(name, given, place) {
  const argument = JSON.stringify(given);
  if (Buffer.byteLength(argument) > maxBytes) {
    throw new ToolError(`the arguments of ${name} are too long; at most ${maxBytes} bytes`, 'bad-input');
  }
  const id = String(++last);
  const fields = ['call', id, name, argument].map((field) => Buffer.from(field));
  const promise = new Promise((resolve, reject) => pending.set(id, { resolve, reject, place }));
  input.ref();
  output.write(Buffer.concat([Buffer.from(`${fields.map(({ length }) => length).join(' ')}\n`), ...fields]));
  return promise;
}

function isPlain(value) {
  return typeof value === 'object' && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value));
}

/** Values in the order of the parameters, and an object of the others by name behind them. */
function functionFor(name, parameters) {
  const takes = `${name}() takes ${parameters.join(', ') || 'nothing'}`;
  const tool = async (...values) => {
    const place = new Error();
    const named = isPlain(values.at(-1)) ? values.pop() : {};
    if (values.length > parameters.length) throw new TypeError(`${takes}; it was given ${values.length} values`);
    const unknown = Object.keys(named).find((key) => !parameters.includes(key));
    if (unknown !== undefined) throw new TypeError(`${takes}; not ${unknown}`);
    return await callTool(name, { ...Object.fromEntries(values.map((value, index) => [parameters[index], value])), ...named }, place);
  };
  Object.defineProperty(tool, 'name', { value: name });
  return tool;
}

/** As Node prints it, without what is ours. */
function show(error) {
  const seen = new Set();
  for (let part = error; part instanceof Error && !seen.has(part); part = part.cause) {
    seen.add(part);
    const lines = String(part.stack).split('\n');
    // An error whose stack cannot be changed is shown as it is.
    Reflect.set(part, 'stack', lines.filter((line) => !/^ {4}at .*(?:\[eval1\]|node:)/.test(line)).join('\n'));
  }
  const [, line, column] = /\bscript\.mjs:(\d+):(\d+)/.exec(error instanceof Error ? error.stack : '') || [];
  const text = source.split('\n')[line - 1];
  const where = text === undefined ? '' : `script.mjs:${line}\n${text}\n${' '.repeat(column - 1)}^\n\n`;
  process.stderr.write(`${where}${error instanceof Error ? inspect(error) : `Uncaught ${inspect(error)}`}\n`);
}

function fail(error) {
  settled = true;
  if (error instanceof SyntaxError && !String(error.stack).includes('script.mjs')) {
    // Only Node itself knows where it is.
    error.stack = `${error.name}: ${error.message}`;
    process.removeAllListeners('uncaughtException');
    setImmediate(() => {
      throw error;
    });
    return;
  }
  show(error);
  process.exit(1);
}

function moduleOf(specifier, names) {
  return new vm.SyntheticModule(
    Object.keys(names),
    function () {
      for (const [name, value] of Object.entries(names)) this.setExport(name, value);
    },
    { identifier: specifier },
  );
}

async function begin([code, tools, max]) {
  source = code || '\n';
  maxBytes = Number(max);
  input.unref();
  const library = { ToolError };
  for (const [name, parameters] of JSON.parse(tools)) library[name] = functionFor(name, parameters);
  const globals = { ...library, require: createRequire(file) };
  for (const [name, value] of Object.entries(globals)) {
    // Names that Node has already are kept; the tool can be imported.
    if (!(name in globalThis)) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
  const load = async (specifier, attributes) => {
    if (specifier === 'hermetic_tools') return library;
    if (attributes && attributes.type === 'json') return { default: JSON.parse(readFileSync(globals.require.resolve(specifier), 'utf8')) };
    return await import(specifier);
  };
  process.on('uncaughtException', (error) => {
    // A script that has its own way to deal with it.
    if (process.listenerCount('uncaughtException') === 1) fail(error);
  });
  process.on('beforeExit', () => {
    if (settled) return;
    process.stderr.write('script.mjs: what it waits for at its top level never happens\n');
    process.exit(13);
  });
  try {
    const script = new vm.SourceTextModule(code, {
      identifier: 'script.mjs',
      initializeImportMeta: (meta) => {
        Object.assign(meta, { url: pathToFileURL(file).href, filename: file, dirname: dirname(file) });
      },
      importModuleDynamically: async (specifier, _script, attributes) => {
        const module = moduleOf(specifier, await load(specifier, attributes));
        await module.link(() => undefined);
        await module.evaluate();
        return module;
      },
    });
    await script.link(async (specifier, _script, { attributes } = {}) => moduleOf(specifier, await load(specifier, attributes)));
    await script.evaluate();
    settled = true;
  } catch (error) {
    fail(error);
  }
}
