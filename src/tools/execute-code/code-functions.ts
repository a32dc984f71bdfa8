import type { ScriptLanguage } from '../../core/approval.ts';
import type { Tool } from '../../core/tool.ts';
import { inputSchemaOf } from '../../lib/json-schema.ts';

/** A tool as scripts see it. */
export interface CodeFunction {
  name: string;
  /** In the order in which values are given. */
  parameters: readonly CodeParameter[];
}

interface CodeParameter {
  name: string;
  required: boolean;
  /** As JSON Schema calls it; undefined when it is several. */
  type: string | undefined;
}

/** Security: what a script can call. Names are words that mean nothing to any shell. */
export function functionsOf(tools: readonly Tool[]): ReadonlyMap<string, CodeFunction> {
  const functions = tools
    .filter(({ forScripts, name }) => forScripts && /^[a-z][a-z0-9_]*$/.test(name))
    .map((tool) => [tool.name, { name: tool.name, parameters: parametersOf(tool) }] as const);
  return new Map(functions);
}

function parametersOf({ input }: Tool): CodeParameter[] {
  const { properties = {}, required = [] } = inputSchemaOf(input);
  return Object.entries(properties)
    .filter(([name]) => /^[a-z][a-z0-9_]*$/i.test(name))
    .map(([name, schema]) => ({
      name,
      required: required.includes(name),
      type: typeof schema === 'object' && typeof schema.type === 'string' ? schema.type : undefined,
    }));
}

/** Description of the functions for the script's side, in its own language. */
export function declarationsFor(language: ScriptLanguage, functions: Iterable<CodeFunction>): string {
  if (language !== 'bash') return JSON.stringify([...functions].map(({ name, parameters }) => [name, parameters.map((one) => one.name)]));
  return [...functions].map(({ name, parameters }) => bashFunction(name, parameters)).join('\n');
}

/** Standard input stands for the last thing that cannot be left out: `write_file notes.txt <notes`. */
function bashFunction(name: string, parameters: readonly CodeParameter[]): string {
  const piped = parameters.findLast(({ required }) => required)?.name ?? '';
  return `${name}() { __hermetic_call ${name} '${parameters.map((one) => one.name).join(' ')}' '${piped}' "$@"; }`;
}

/** As in `terminal(command, cwd?, timeout?)`. */
export function signatureOf({ name, parameters }: CodeFunction): string {
  return `${name}(${parameters.map((one) => `${one.name}${one.required ? '' : '?'}`).join(', ')})`;
}

/** The input of a call as it came from a script: JSON, or from bash names and values. Throws with what is wrong with it. */
export function inputFrom(language: ScriptLanguage, { parameters }: CodeFunction, fields: readonly Buffer[]): unknown {
  const texts = fields.map((field) => utf8.decode(field));
  if (language !== 'bash') return parsed(texts[0] ?? '{}');
  const types = new Map(parameters.map(({ name, type }) => [name, type]));
  const input: Record<string, unknown> = Object.create(null);
  for (let at = 0; at + 1 < texts.length; at += 2) {
    const [name = '', value = ''] = texts.slice(at);
    if (types.has(name)) input[name] = valueFrom(value, types.get(name));
  }
  return { ...input };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Security: a key that would be taken for the prototype is no argument of anything. */
function parsed(text: string): unknown {
  return JSON.parse(text, (key, value: unknown) => (key === '__proto__' ? undefined : value));
}

/** Bash has only texts. One that does not fit stays as it is, and the tool says what it wants instead. */
function valueFrom(text: string, type: string | undefined): unknown {
  try {
    if (type === 'array' || type === 'object') return parsed(text);
  } catch {
    return text;
  }
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  const isNumber = (type === 'number' || type === 'integer') && text.trim() !== '' && Number.isFinite(Number(text));
  return isNumber ? Number(text) : text;
}
