import { HermeticError } from '../../core/errors.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { editDistance } from '../../lib/nearest.ts';
import { printable } from '../../lib/printable.ts';

/** The answer of a file script about a path, and the bytes after it. */
export interface Answer {
  verb: string;
  /** The rest of the first line. */
  detail: string;
  body: Buffer;
}

const longestLine = 100;
const maxNames = 40;

/** Collects the answer of a script that is not believed: no more of it than `maxBytes`. */
export class AnswerCollector {
  readonly #store = new ByteStore();
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes + longestLine;
  }

  push(data: Buffer): void {
    this.#store.push(data);
    if (this.#store.length > this.#maxBytes) throw new HermeticError('file/failed', 'The sandbox sent more than it was asked for.');
  }

  /** undefined until the first line is there. */
  get answer(): Answer | undefined {
    // The line has a bound: where it never ends, looking for its end must not take longer with every byte.
    const end = this.#store.view(0, longestLine).indexOf(10);
    if (end === -1) return undefined;
    const [verb = '', ...detail] = this.#store.view(0, end).toString().split(' ');
    return { verb, detail: detail.join(' '), body: this.#store.view(end + 1) };
  }
}

export function sizeIn({ detail }: Answer): number {
  const size = /^(\d{1,15})(?: taken)?$/.exec(detail)?.[1];
  if (size === undefined) throw garbled();
  return Number(size);
}

export function garbled(): HermeticError {
  return new HermeticError('file/failed', 'The sandbox answered with something that is no answer.');
}

/** Throws for a path that is no file, with what a model needs to find the one it meant. */
export function requireFile({ verb, detail, body }: Answer, path: string): void {
  if (verb === 'special') throw new HermeticError('file/failed', `${path} is ${printable(detail)}, not a file.`);
  if (verb === 'directory') {
    const names = namesIn(body).map(({ name, isDirectory }) => (isDirectory ? `${name}/` : name));
    const listed = names.length > maxNames ? [...names.slice(0, maxNames), `and ${names.length - maxNames} more`] : names;
    throw new HermeticError('file/is-directory', `${path} is a directory. It contains: ${listed.join(', ') || 'nothing'}.`, {
      hint: 'search_files with target "names" lists what is below a directory.',
    });
  }
  if (verb === 'missing') throw missing(path, Number(detail), body);
}

function missing(path: string, length: number, body: Buffer): HermeticError {
  const directory = body.subarray(0, length).toString();
  const parts = path.replace(/\/+$/, '').split('/');
  const parent = parts.slice(0, -1).join('/');
  const depth = directory
    .replace(/^\.\/?/, '')
    .split('/')
    .filter(Boolean).length;
  const isParent = path.startsWith('~') || depth >= parts.filter((part) => part !== '' && part !== '.').length - 1;
  const wanted = (isParent ? parts.at(-1) : parts.filter((part) => part !== '' && part !== '.')[depth]) ?? '';
  const similar = similarNames(wanted, namesIn(body.subarray(length)));
  const where = isParent ? '' : ` There is no directory ${parent} either; the last that exists is ${directory || '/'}.`;
  const hint = similar.length > 0 ? `${isParent ? 'Similar names there' : 'Similar names in it'}: ${similar.join(', ')}.` : undefined;
  return new HermeticError('file/no-file', `There is no file ${path} in the sandbox.${where}`, { hint });
}

interface Name {
  name: string;
  isDirectory: boolean;
}

function namesIn(body: Buffer): Name[] {
  const names = body.toString().split('\0').slice(0, -1);
  return names.map((text) => ({ name: printable(text.slice(1)), isDirectory: text.startsWith('d') }));
}

/** At most three, best first: by few mistakes, or one name within the other. */
function similarNames(wanted: string, names: readonly Name[]): string[] {
  const limit = Math.max(2, Math.floor(wanted.length / 3));
  const word = wanted.toLowerCase();
  const stem = word.replace(/\.[^.]*$/, '');
  return names
    .filter(({ name }) => name.length < 256)
    .map(({ name, isDirectory }) => {
      const other = name.toLowerCase();
      const isWithin = stem.length > 2 && (other.includes(stem) || (other.length > 2 && word.includes(other)));
      return { text: isDirectory ? `${name}/` : name, distance: Math.min(editDistance(word, other), isWithin ? limit : limit + 1) };
    })
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ text }) => text);
}
