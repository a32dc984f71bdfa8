import { reportUnseen } from '../programs/builtins.ts';
import type { RuleId } from '../rules.ts';
import { readOptions } from '../shell/options.ts';
import { isUnknown } from '../shell/values.ts';
import type { Invocation } from './invocation.ts';
import { resolvePaths } from './resolve.ts';
import { touchWrite } from './touch.ts';

const everything = /^(?:\.|:\/|\*|\.\/|:\(top\).*|--all|\.\.)$/;
const runningSettings =
  /^(?:core\.(?:hookspath|sshcommand|pager|editor|fsmonitor|askpass|gitproxy|alternaterefscommand)|credential\.helper|credential\..*\.helper|diff\..*\.(?:command|textconv)|diff\.external|merge\..*\.driver|filter\..*|pager\..*|sequence\.editor|gpg\.program|gpg\..*\.program|init\.templatedir|include\.path|includeif\..*|uploadpack\..*|receive\..*|remote\..*\.(?:uploadpack|receivepack|proxy|vcs)|url\..*|protocol\..*\.allow|safe\.directory|http\.(?:sslverify|proxy|.*sslverify)|browser\..*\.cmd|(?:merge|diff)tool\..*\.cmd|submodule\..*\.update)$/i;

/** What git throws away, rewrites or is made to run. */
export function gitRules({ program, args, state, stdin }: Invocation): void {
  const outer = readOptions(
    args,
    { short: 'Cc', long: ['git-dir', 'work-tree', 'namespace', 'exec-path', 'config-env', 'super-prefix'] },
    true,
  );
  const [verb = '', ...rest] = outer.rest;
  const places = outer.valuesOf('C', 'work-tree', 'git-dir');
  const paths = places.length > 0 ? places.flatMap((place) => resolvePaths(place, state)) : [...state.workingDirectories];
  const report = (rule: RuleId): void => state.judgement.report(rule, program, paths);
  for (const setting of outer.valuesOf('c')) {
    const [name = '', ...value] = setting.split('=');
    noteSetting(name, value.join('='), report, { program, args, state, stdin });
  }
  if (isUnknown(verb)) report('shell/unresolved-argument');
  const options = readOptions(rest, {
    short: 'mbBunoCFXs',
    long: ['message', 'author', 'date', 'branch', 'depth', 'origin', 'template', 'exec', 'onto', 'strategy'],
  });
  const words = options.rest;
  const has = options.has;
  switch (verb) {
    case 'reset':
      if (has('hard', 'merge', 'keep')) report('git/discard');
      break;
    case 'clean':
      if (has('f', 'force') && !has('n', 'dry-run')) report('git/discard');
      break;
    case 'checkout':
      if (
        rest.some((arg) => /^-(?!b|B|-)\w*f|^--force$/.test(arg)) ||
        (words.some((word) => everything.test(word)) && !has('b', 'B', 'orphan'))
      )
        report('git/discard');
      break;
    case 'switch':
      if (has('f', 'force', 'discard-changes')) report('git/discard');
      if (has('C', 'force-create')) report('git/rewrite-history');
      break;
    case 'restore':
      if (words.some((word) => everything.test(word)) && (!has('S', 'staged') || has('W', 'worktree'))) report('git/discard');
      break;
    case 'stash':
      if (/^(?:drop|clear)$/.test(words[0] ?? '')) report('git/discard');
      break;
    case 'rm':
      if (!has('cached', 'n', 'dry-run') && has('r', 'f')) report('files/recursive-delete');
      break;
    case 'push':
      if (
        rest.some(
          (arg) =>
            /^(?:-\w*f\w*|--force\S*|--mirror|--delete|-\w*d|--prune|\+.*|:.+|[^-].*:\+.*)$/.test(arg) && !/^--follow-tags$/.test(arg),
        )
      )
        report('git/rewrite-history');
      if (rest.some((arg) => /^[\uE000-\uE002]/.test(arg))) report('shell/unresolved-argument');
      break;
    case 'branch':
      if (rest.some((arg) => /^-\w*[DMC]|^--force$|^-\w*f/.test(arg)) || (has('d', 'delete') && has('force', 'f')))
        report('git/rewrite-history');
      break;
    case 'tag':
      if (has('d', 'delete', 'f', 'force')) report('git/rewrite-history');
      break;
    case 'filter-branch':
    case 'filter-repo':
    case 'replace':
    case 'prune':
      report('git/rewrite-history');
      break;
    case 'update-ref':
      report('git/rewrite-history');
      break;
    case 'reflog':
      if (/^(?:expire|delete)$/.test(words[0] ?? '')) report('git/rewrite-history');
      break;
    case 'gc':
      if (rest.some((arg) => /^--prune(?:=now|=all)?$|^--aggressive-x$/.test(arg))) report('git/rewrite-history');
      break;
    case 'worktree':
      if (words[0] === 'remove' && has('f', 'force')) report('git/discard');
      break;
    case 'submodule':
      if (words[0] === 'deinit' && has('f', 'force', 'all')) report('git/discard');
      if (words[0] === 'foreach') runCode(words.slice(1).join(' '), { program, args, state, stdin });
      break;
    case 'rebase':
      for (const code of [...options.valuesOf('exec'), ...readOptions(rest, { short: 'x' }).valuesOf('x')])
        runCode(code, { program, args, state, stdin });
      break;
    case 'bisect':
      if (words[0] === 'run') state.judgement.runFields(rest.slice(rest.indexOf('run') + 1), state.fork(), ['']);
      break;
    case 'config':
      configure(rest, report, { program, args, state, stdin });
      break;
    case 'clone':
    case 'init':
      if (words.at(-1) !== undefined && words.length > (verb === 'clone' ? 1 : 0)) touchWrite(words.at(-1) ?? '', program, state);
      for (const code of readOptions(rest, { short: 'u', long: ['upload-pack'] }).valuesOf('u', 'upload-pack'))
        if (verb === 'clone' && code !== '') runCode(code, { program, args, state, stdin });
      for (const setting of readOptions(rest, { short: 'c', long: ['config'] }).valuesOf('c', 'config')) {
        const [name = '', ...value] = setting.split('=');
        noteSetting(name, value.join('='), report, { program, args, state, stdin });
      }
      if (words.some((word) => /^ext::/.test(word))) report('code/unseen');
      break;
    case 'add':
    case 'apply':
    case 'am':
      break;
    case 'ls-remote':
    case 'fetch':
    case 'pull':
      if (rest.some((arg) => /^--upload-pack/.test(arg)) || words.some((word) => /^ext::/.test(word))) report('code/unseen');
      break;
    default:
  }
}

function configure(rest: readonly string[], report: (rule: RuleId) => void, invocation: Invocation): void {
  if (rest.some((arg) => /^--(?:get\S*|list|show\S*)$|^-l$|^(?:get|list)$/.test(arg))) return;
  const [first = '', ...words] = readOptions(rest, { short: 'f', long: ['file', 'blob', 'type', 'default'] }).rest;
  const [name = '', value = ''] = first === 'set' || first === 'unset' ? words : [first, ...words];
  if (value !== '' || first === 'unset' || rest.some((arg) => arg.startsWith('--unset'))) noteSetting(name, value, report, invocation);
}

function noteSetting(name: string, value: string, report: (rule: RuleId) => void, invocation: Invocation): void {
  if (/^alias\./i.test(name)) {
    if (isUnknown(value)) report('persistence/git');
    else if (value.startsWith('!')) {
      report('persistence/git');
      runCode(value.slice(1), invocation);
    } else invocation.state.judgement.runFields(['git', ...value.split(/\s+/)], invocation.state.fork(), ['']);
    return;
  }
  if (
    !runningSettings.test(name) ||
    /^(?:cat|less(?: .*)?|delta|vim?|nvim|nano|emacs|code --wait|store|cache(?: .*)?|osxkeychain|manager|libsecret|true|false|\.husky|)$/.test(
      value,
    )
  )
    return;
  report('persistence/git');
  if (/command|pager|editor|helper|program|driver|\.cmd$/i.test(name)) runCode(value.replace(/^!/, ''), invocation);
}

function runCode(code: string, { program, state }: Invocation): void {
  reportUnseen(code, program, state);
  state.judgement.runSource(code, state.fork(), ['']);
}
