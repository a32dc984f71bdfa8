import type { RuleId } from './rules.ts';

/**
 * What a value of an option, or an operand, is to the program. `kinds.ts` says what is looked at for each.
 *
 * | kind | means | asked about |
 * |---|---|---|
 * | `text` | any text: a pattern, a message, a number | nothing |
 * | `read` | a file or directory that is read, with all below it | credentials, Hermetic's own files, a name that is not known |
 * | `list` | a file or directory of which only names, sizes and the like are shown | Hermetic's own files, a name that is not known |
 * | `write` | a file or directory that is made or changed | other places than the workspace, git hooks, running it |
 * | `into` | a directory in which files are made under names that the words do not tell | as `write` |
 * | `attributes` | a file or directory that is made empty, or whose mode, owner or dates are changed | as `write` |
 * | `delete` | a file or directory that is removed with all below it | places outside the workspace; the whole workspace |
 * | `move` | a file that is read here and then gone | as `read` and `delete` |
 * | `target` | where a symbolic link leads | places outside the workspace |
 * | `directory` | the program works in this directory, reading and writing there | places outside the workspace |
 * | `project` | the same for one that is installed, perhaps with extras: `.[dev]` | as `directory`; addresses |
 * | `script` | a file that is run; the operands after it are its own | files outside the workspace; files that this command wrote |
 * | `command` | the rest of the line is a command that is run | what that command is asked about |
 * | `shell` | text that a shell runs | what that text is asked about |
 * | `exec` | the words up to `;` or `+` are a command (`find -exec`) | what that command is asked about |
 * | `module` | the rest of the line is a module of Python with its operands: row `python -m NAME`, or the program NAME | as there |
 * | `code` | code in another language | always |
 * | `url` | an address that is fetched | other than http and https, addresses with secrets, addresses of cloud metadata |
 * | `package` | a package of the registry, by name and version | paths, addresses, git |
 * | `variable` | `NAME=value`, set for the program that is run | names that are not known to be harmless |
 * | `setting` | `key=value` of git | keys that are not known to be harmless |
 * | `remote` | a git repository elsewhere, by name or address | `ext::`, paths outside the workspace, options |
 * | `refspec` | what git fetches or pushes | `+` (by force), an empty source (deletes) |
 * | `branch`, `restored` | a branch or commit of git; a file that git brings back as it was | more than one file, whose changes would be thrown away |
 * | `sed`, `awk`, `jq`, `sql` | a program in that language | all but reading and computing (sed: also writing files of the workspace) |
 * | `dd` | `if=` a file that is read, `of=` one that is written | as `read` and `write` |
 * | `prunes` | a directory below which some files are removed | as `delete`, but for the workspace itself |
 * | `sends` | text that is sent, or `@` and a file that is read | as `read` |
 * | `format` | `+` and a format (date) | anything else, which sets something |
 * | `mode` | a mode of chmod | setuid, setgid, writable by all |
 * | `pid` | a process by number | processes that the session did not start, all of them (-1), unknown names |
 * | `flags` | options for a compiler or interpreter behind it | options that load code: `-fplugin`, `-B`, `-wrapper`, `@file`, … |
 */
export const kinds = [
  'text',
  'read',
  'list',
  'write',
  'into',
  'attributes',
  'delete',
  'move',
  'target',
  'directory',
  'project',
  'script',
  'command',
  'shell',
  'exec',
  'module',
  'code',
  'url',
  'package',
  'variable',
  'setting',
  'remote',
  'refspec',
  'branch',
  'restored',
  'sed',
  'awk',
  'jq',
  'sql',
  'dd',
  'prunes',
  'sends',
  'format',
  'mode',
  'pid',
  'flags',
] as const;

export type Kind = (typeof kinds)[number];

/**
 * Files under names that the words do not tell: from the network, out of an archive, those that a patch names, parts of
 * a file. `uncompressed`: each operand without its ending. `addressed`: from the network when an address is given.
 */
type Brings = 'downloaded' | 'unpacked' | 'patched' | 'written' | 'uncompressed' | 'addressed';

type Prints = 'paths' | 'names' | 'input' | 'name' | 'temporary' | 'unpacked';

/** A program, or one of its subcommands, that is known. What the row does not name is asked about. */
export interface Program {
  /**
   * The options, apart by blanks: `-n` and `--dry-run` are flags, `-abc` is three of them (with `words`: one), `-e:text` takes a value of
   * that kind (the next word, or attached: `-ex`, `--e=x`), `-i:text?` takes one only when it is attached. `!rule` after it, such as
   * `--force!git/rewrite-history`, asks; so does `--!rule` for what stands behind `--`. An option that is not named is asked about, also when it abbreviates one that is.
   */
  options?: string;
  /**
   * The operands in order, such as `text read*`: `read` one, `read?` perhaps one, `read*` any number, `read+` at least one. What stands after
   * the one that repeats is taken from the end: `read+ write` of cp. Without `operands` there may be none.
   */
  operands?: string;
  /** Operands when one of these options was given (`sed -e`): the first that matches. */
  operandsWith?: Readonly<Record<string, string>>;
  /** By name; `a|b` names two. The options of this row may stand before the subcommand. Without a subcommand, `operands` holds. */
  subcommands?: Readonly<Record<string, Program>>;
  /** It is always asked about, by this rule. */
  asks?: RuleId;
  /** Asked about by this rule when none of these options was given, such as `git clean` without `-n`. */
  asksWithout?: readonly [options: string, rule: RuleId];
  /** Asked about by this rule when it has no operands, such as `env`. */
  asksAlone?: RuleId;
  /** Long options have one dash, and short ones are not put together: find, java, terraform. */
  words?: true;
  /** It is a file of the workspace, which is run: manage.py. */
  isFile?: true;
  /** The first word is an option or a subcommand, never an operand: tar. */
  firstNamed?: true;
  /** The first operand ends the options: what follows is the operands' own. So for what starts other programs. */
  optionsFirst?: true;
  /** No option of the program, named here or not, can do harm; so a word that is not known may stand anywhere. */
  anyOption?: true;
  /** A file whose name is an option (`--to-command=x`) would do harm, so patterns that may match one are asked about: tar, rsync, zip. */
  noPatterns?: true;
  /**
   * What it prints: paths below its operands, its standard input or a part of it, a single name or number, or unpacked
   * content (zcat). By option where it depends on one: `{ '-l': 'paths' }`.
   */
  prints?: Prints | Readonly<Record<string, Prints>>;
  /** It saves what it fetches: running that file is asked about, in the same command and in those after it. */
  downloads?: true;
  /**
   * It makes such files in the directory of kind `into`, or where it works. Running anything there is asked about, also
   * in later commands when they come from an archive, a patch or the network. By option where it depends on one.
   */
  brings?: Brings | Readonly<Record<string, Brings>>;
  /** Options with which it makes none: `unzip -l`. */
  bringsUnless?: string;
  /** It writes only the content of files it reads: a copy, a link. Compilers and other tools need not say so. */
  derives?: true;
}

export type Programs = Readonly<Record<string, Program>>;

/** Several programs with the same row. */
export function each(names: string, row: Program): Programs {
  return Object.fromEntries(names.split(' ').map((name) => [name, row]));
}
