export type CodeLanguage = 'python' | 'javascript' | 'perl' | 'ruby' | 'php' | 'awk' | 'other';

/** Whether code in another language only computes, reads its input and prints. Doubt means no. */
export function isHarmlessCode(language: CodeLanguage, code: string): boolean {
  if (code.length > 8_000) return false;
  return tests[language](code);
}

const plainModules = new Set(
  (
    'this sys json math re platform datetime time collections itertools functools random statistics string textwrap decimal fractions operator enum typing dataclasses pprint ' +
    'hashlib base64 binascii struct uuid csv html calendar locale unicodedata difflib heapq bisect copy types abc numbers cmath secrets zlib colorsys ast inspect site sysconfig ' +
    'importlib.metadata importlib.util tomllib configparser urllib.parse os os.path xml.etree.ElementTree argparse warnings contextlib traceback keyword token tokenize timeit ' +
    'numpy pandas torch torchvision tensorflow keras sklearn scipy matplotlib yaml toml django flask fastapi pydantic PIL cv2 transformers jax pytest setuptools pip wheel sympy ' +
    'rich black mypy ruff attr attrs jinja2 click typer tqdm networkx numba polars pyarrow seaborn plotly nltk spacy sqlalchemy celery redis boto3 google openai anthropic distutils pkg_resources'
  ).split(' '),
);
const pythonWords =
  /\b(?:exec|eval|compile|execfile|globals|locals|vars|getattr|setattr|delattr|input|breakpoint|subprocess|shutil|socket|ctypes|pty|builtins|multiprocessing|pickle|marshal|runpy|code|environ|getenv|putenv|system|popen|spawn\w*|fork|kill|killpg|remove|unlink|rmdir|removedirs|rmtree|rename|replace_file|chmod|chown|symlink|link|truncate|mkdir|makedirs|write_text|write_bytes|touch|to_csv|to_sql|to_pickle|load_module|modules|urlopen|urlretrieve|connect|save|dump|tofile|savetxt)\s*\(|\b(?:os\.environ|sys\.modules|builtins|subprocess|__builtins__|__import__)\b/;
const plainOs =
  /\bos\.(?!path\b|getcwd\b|cpu_count\b|name\b|sep\b|listdir\b|getpid\b|linesep\b|uname\b|get_terminal_size\b|walk\b|scandir\b|stat\b)/;

function harmlessPython(code: string): boolean {
  const bare = withoutStrings(
    code,
    /(?<![A-Za-z0-9_])[rbuRBU]{0,2}("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')/g,
    /[fF][rR]?$/,
  );
  if (pythonWords.test(bare) || plainOs.test(bare)) return false;
  if (/__(?!version__|name__|file__|doc__|main__|len__|all__|init__)\w+__/.test(bare)) return false;
  for (const [, mode] of code.matchAll(/\bopen\s*\(([^()]*)\)/g))
    if (!/^[^,]*(?:,\s*(?:mode\s*=\s*)?['"]r[bt]?['"])?(?:,\s*encoding\s*=\s*['"][\w-]+['"])?$/.test(mode ?? '')) return false;
  if (/\bopen\b(?!\s*\([^()]*\))/.test(bare)) return false;
  for (const [, names] of bare.matchAll(/(?:^|[;\n:])\s*import\s+([^;\n]+)/g)) {
    for (const name of (names ?? '').split(',')) if (!isPlainModule(name.trim().split(/\s+as\s+/)[0] ?? '')) return false;
  }
  for (const [, name] of bare.matchAll(/\bfrom\s+([\w.]+)\s+import\b/g)) if (!isPlainModule(name ?? '')) return false;
  return !/\bfrom\s+os\s+import\b|\bfrom\s+sys\s+import\s+modules\b|import_module|\.__globals__/.test(bare);
}

function isPlainModule(name: string): boolean {
  return plainModules.has(name) || plainModules.has(name.split('.')[0] ?? '');
}

const javascriptWords =
  /\b(?:eval|Function|constructor|__proto__|import|child_process|globalThis|global|module|mainModule|binding|_linkedBinding|dlopen|execPath|kill|exec\w*|spawn\w*|fork|Reflect|Proxy|WebAssembly|Worker|fetch|XMLHttpRequest|WebSocket|Deno|Bun|vm|write\w*Sync|writeFile\w*|unlink\w*|rm|rmSync|rmdir\w*|rename\w*|chmod\w*|chown\w*|append\w*|mkdir\w*|copyFile\w*|cp|cpSync|symlink\w*|truncate\w*|createWriteStream|promises|openSync|with)\b/;

function harmlessJavascript(code: string): boolean {
  const bare = withoutStrings(code, /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')/g, /$^/);
  // A property whose name is put together may be any of them.
  if (javascriptWords.test(bare) || /[\w)\]]\s*\[(?!\s*(?:\d+|''|"")\s*\])/.test(bare) || /\\[ux]/.test(code)) return false;
  if (/['"](?:constructor|__proto__|mainModule|binding)['"]/.test(code)) return false;
  if (
    /\bprocess\b(?!\.(?:version|versions|argv|platform|arch|cwd|exit|exitCode|stdin|stdout|stderr|uptime|memoryUsage|hrtime|release|env\.\w+)\b)/.test(
      bare,
    )
  )
    return false;
  for (const [, name] of code.matchAll(/\brequire\b\s*(?:\(\s*['"`]([^'"`]*)['"`]\s*\))?/g)) {
    if (
      name === undefined ||
      !/^(?:node:)?(?:path|os|util|url|crypto|assert|querystring|events|buffer|fs|semver|punycode|v8|zlib|perf_hooks|string_decoder|\.{1,2}\/[\w./-]+\.json|[\w@/-]+\/package(?:\.json)?|lodash|typescript)$/.test(
        name,
      )
    )
      return false;
  }
  return true;
}

const perlWords = new Set(
  (
    'print printf say if else elsif unless while until for foreach my our local next last redo and or not x eq ne lt gt le ge cmp split join map grep sort reverse keys values length substr index rindex ' +
    'uc lc ucfirst lcfirst chomp chop push pop shift unshift splice sprintf abs int sqrt defined undef scalar qw use strict warnings feature utf8 BEGIN END time localtime gmtime exists delete each ' +
    'wantarray return sub ord chr hex oct STDIN STDERR STDOUT F ARGV eof rand srand sin cos atan2 exp log q qq tr y s m g i e1 n sum max min first uniq shuffle decode_json encode_json JSON PP POSIX floor ceil strftime List Util Data Dumper die warn exit'
  ).split(' '),
);

function harmlessPerl(code: string): boolean {
  if (/`|\bqx\b|\$\s*\{|&\$|->\s*\$|<[^>]*\|/.test(code)) return false;
  const expressions = /\b(?:s|tr|y)([/|#!,{])((?:\\.|(?!\1)[^\\])*)\1((?:\\.|(?!\1)[^\\])*)\1([a-z]*)/g;
  for (const [, , pattern, , flags] of code.matchAll(expressions))
    if (/e/.test(flags ?? '') || /\(\?\??\{/.test(pattern ?? '')) return false;
  const bare = withoutStrings(code.replace(expressions, ' '), /("(?:\\.|[^"\\@])*"|'(?:\\.|[^'\\])*')/g, /$^/).replace(
    /(?:^|[=(,!~{;]|\bif|\bunless|\bwhile|\buntil|\band|\bor)\s*m?\/(?:\\.|[^/\\])*\/[a-z]*/g,
    ' ',
  );
  return (bare.match(/(?<![$@%\w])[A-Za-z_]\w*/g) ?? []).every((word) => perlWords.has(word));
}

const rubyWords =
  /`|%x|\b(?:system|exec|spawn|fork|eval|instance_eval|class_eval|module_eval|instance_exec|send|__send__|public_send|method|Kernel|Process|IO|FileUtils|Dir|open|popen\w*|Open3|require_relative|load|Net|Socket|TCPSocket|TCPServer|UNIXSocket|ObjectSpace|binding|const_get|define_method|unlink|delete|rm_rf|rm_r|rmtree|ENV|syscall|trap|at_exit|PTY|Fiddle|DRb|Pathname|write|binwrite|rename|chmod|chown|symlink|truncate|mkdir|kill|exit!)\b|\bFile\b(?!\.(?:read|exist\?|basename|extname|dirname|join|readlines|foreach)\b)/;
const phpWords =
  /`|\b(?:system|exec|shell_exec|passthru|popen|proc_\w+|pcntl_\w+|posix_\w+|eval|assert|create_function|include|include_once|require|require_once|file_put_contents|fopen|fwrite|fputs|file|unlink|rmdir|mkdir|rename|copy|chmod|chown|touch|symlink|link|mail|curl_\w+|fsockopen|pfsockopen|socket_\w+|stream_\w+|call_user_func\w*|array_map|array_filter|array_walk|usort|uasort|uksort|preg_replace_callback|Reflection\w*|dl|putenv|getenv|parse_ini_file|move_uploaded_file|file_get_contents|readfile|highlight_file|show_source|base64_decode|str_rot13|gzinflate|pack|chr|GLOBALS|_ENV|_SERVER|register_shutdown_function|ob_start|ini_set|extract)\b|\$\w+\s*\(|\$\{|\$\$/i;
const awkWords =
  /\bsystem\s*\(|\|\s*&?\s*(?:getline|"|')|\bgetline\b\s*(?:\w+\s*)?<|@load|@include|\bENVIRON\b|"\s*\||\bprintf?\b[^;}\n]*(?:>|\|)(?!\s*"\/dev\/std(?:err|out)")/;
const otherWords =
  /\b(?:os|io|system|systems?|run|exec\w*|shell|file\w*|unlink|remove|delete|do shell script|Sys|load\w*|require|dofile|spawn|popen|open|write\w*|eval|parse|ccall|Process|source|socket|url|download\w*|e?syscmd)\b|`|\|/i;

const tests: Readonly<Record<CodeLanguage, (code: string) => boolean>> = {
  python: harmlessPython,
  javascript: harmlessJavascript,
  perl: harmlessPerl,
  ruby: (code) =>
    !rubyWords.test(code) &&
    [...code.matchAll(/\brequire\s*\(?\s*['"]([^'"]*)/g)].every(([, name]) =>
      /^(?:json|date|time|yaml|set|digest|securerandom|bigdecimal|csv|pp|erb|base64|rubygems)(?:\/\w+)?$/.test(name ?? ''),
    ),
  php: (code) => !phpWords.test(code),
  awk: (code) => !awkWords.test(code.replace(/"(?:\/dev\/std(?:err|out))"/g, '$&')),
  other: (code) => !otherWords.test(code.replace(/\bIO\.(?:puts|inspect)\b/g, '')),
};

/** Without its texts, which run nothing; those with code inside stay. */
function withoutStrings(code: string, strings: RegExp, keep: RegExp): string {
  return code.replace(strings, (text: string, ...rest: unknown[]) => {
    const offset = rest.find((value) => typeof value === 'number') as number;
    return keep.test(code.slice(Math.max(0, offset - 2), offset)) ? text : '""';
  });
}
