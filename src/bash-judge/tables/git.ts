import type { Program, Programs } from './program.ts';

const diffOptions = `-p -u -s -R -a -b -w -W -z -B:text? -M:text? -C:text? -D -G:text -S:text -O:read -U:text -l:text --patch --no-patch --raw --minimal --patience
  --histogram --indent-heuristic --anchored:text --diff-algorithm:text --stat:text? --stat-width:text --stat-count:text --compact-summary --numstat --shortstat --dirstat:text? --summary
  --patch-with-stat --name-only --name-status --submodule:text? --color:text? --no-color --color-moved:text? --no-color-moved --color-moved-ws:text --word-diff:text? --word-diff-regex:text
  --color-words:text? --no-renames --check --full-index --binary --abbrev:text? --no-abbrev --break-rewrites:text? --find-renames:text? --find-copies:text? --find-copies-harder
  --irreversible-delete --diff-filter:text --pickaxe-all --pickaxe-regex --skip-to:text --rotate-to:text --relative:text? --text --ignore-cr-at-eol --ignore-space-at-eol
  --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines:text -I:text --inter-hunk-context:text --function-context --exit-code --quiet -q --no-ext-diff
  --no-textconv --ignore-submodules:text? --src-prefix:text --dst-prefix:text --no-prefix --default-prefix --ita-invisible-in-index --unified:text --merge-base
  --cached --staged --no-index --cc -c --combined-all-paths -t --remerge-diff --diff-merges:text --no-diff-merges --output:write --exclude:text`;
const logOptions = `-n:text -i -E -F -P -g -L:text --max-count:text --skip:text --since:text --after:text --until:text --before:text --since-as-filter:text --author:text --committer:text
  --grep:text --grep-reflog:text --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --merges --no-merges --min-parents:text --max-parents:text
  --first-parent --not --all --branches:text? --tags:text? --remotes:text? --glob:text --reflog --walk-reflogs --stdin --cherry --cherry-pick --cherry-mark --left-right --left-only --right-only --boundary
  --simplify-by-decoration --full-history --dense --sparse --simplify-merges --ancestry-path:text? --date-order --author-date-order --topo-order --reverse --graph --no-graph --show-linear-break:text?
  --pretty:text? --format:text --abbrev-commit --no-abbrev-commit --oneline --encoding:text --expand-tabs:text? --no-expand-tabs --notes:text? --no-notes --show-signature --relative-date --date:text
  --parents --children --source --decorate:text? --no-decorate --decorate-refs:text --decorate-refs-exclude:text --clear-decorations --follow --no-walk:text? --do-walk --mailmap --use-mailmap --no-mailmap
  --count --timestamp --bisect --log-size --show-pulls --no-patch --unpacked --objects`;
const commitOptions = `-a -p -s -n!git/skip-checks -v -q -e -i -o -u:text? -S:text? -C:text -c:text -F:read -m:text -t:read --all --patch --reuse-message:text --reedit-message:text --fixup:text --squash:text --reset-author --short
  --branch --porcelain --long --null -z --file:read --author:text --date:text --message:text --template:read --signoff --no-signoff --trailer:text --no-verify!git/skip-checks --allow-empty --allow-empty-message
  --cleanup:text --edit --no-edit --no-post-rewrite --include --only --pathspec-from-file:read --untracked-files:text? --verbose --quiet --dry-run --status --no-status --gpg-sign:text?
  --no-gpg-sign --amend`;
const mergeOptions = `-n -q -v -s:text -X:text -S:text? -m:text -F:read -e --commit --no-commit --edit --no-edit --cleanup:text --ff --no-ff --ff-only --gpg-sign:text? --no-gpg-sign --log:text? --no-log --signoff --no-signoff --stat
  --no-stat --squash --no-squash --verify --no-verify!git/skip-checks --strategy:text --strategy-option:text --verify-signatures --no-verify-signatures --summary --no-summary --quiet --verbose --progress
  --no-progress --autostash --no-autostash --allow-unrelated-histories --message:text --file:read --rerere-autoupdate --no-rerere-autoupdate --overwrite-ignore --no-overwrite-ignore --into-name:text
  --abort --quit --continue`;
const fetchOptions = `-a -f -k -p -P -n -t -j:text -q -v -4 -6 -u --all --append --atomic --depth:text --deepen:text --shallow-since:text --shallow-exclude:text --unshallow --update-shallow --dry-run --porcelain --force --keep
  --multiple --auto-maintenance --no-auto-maintenance --auto-gc --no-auto-gc --write-fetch-head --no-write-fetch-head --prune --prune-tags --no-tags --refetch --tags --recurse-submodules:text?
  --no-recurse-submodules --jobs:text --set-upstream --quiet --verbose --progress --show-forced-updates --no-show-forced-updates --ipv4 --ipv6 --filter:text --negotiation-tip:text`;

// `--output` writes a file, so a word that is not known, which may be an option, is asked about.
const commits: Program = { options: `${diffOptions} ${logOptions} -m --ext-diff --textconv`, operands: 'read*' };

const looking = (options: string, operands = 'text*'): Program => ({ options, operands, anyOption: true });

const branching: Programs = {
  branch: {
    options: `-v -a -r -l -q -i -f!git/rewrite-history -m -c -t:text? -u:text -d -D!git/rewrite-history -M!git/rewrite-history -C!git/rewrite-history --list --all --remotes --verbose --quiet --color:text? --no-color
      --column:text? --no-column --sort:text --points-at:text --format:text --contains:text? --no-contains:text? --merged:text? --no-merged:text? --abbrev:text? --no-abbrev --track:text? --no-track --set-upstream-to:text
      --unset-upstream --show-current --delete --move --copy --edit-description --ignore-case --create-reflog --recurse-submodules --force!git/rewrite-history`,
    operands: 'text*',
    // With `--format` it prints any text, but not of the current branch.
    prints: { '--show-current': 'name' },
  },
  checkout: {
    options: `-q -b:text -B:text!git/rewrite-history -t:text? -l -d -p -m -f!git/discard --quiet --progress --no-progress --detach --track:text? --no-track --orphan:text --guess --no-guess --ours --theirs --merge --conflict:text --patch
      --recurse-submodules --no-recurse-submodules --force!git/discard --ignore-other-worktrees --overlay --no-overlay`,
    operands: 'branch? restored*',
    operandsWith: { '-b': 'text?', '-B': 'text?', '--orphan': 'text?', '-t': 'text?', '--track': 'text?' },
  },
  switch: {
    options: `-c:text -C:text!git/rewrite-history -d -q -t:text? -m -f!git/discard --create:text --force-create:text!git/rewrite-history --detach --guess --no-guess --force!git/discard --discard-changes!git/discard --merge --conflict:text --quiet
      --progress --no-progress --track:text? --no-track --orphan:text --ignore-other-worktrees --recurse-submodules --no-recurse-submodules`,
    operands: 'text*',
  },
  merge: { options: mergeOptions, operands: 'text*' },
  rebase: {
    options: `${mergeOptions} -i -r:text? -f -C:text -x:shell --onto:text --keep-base --skip --edit-todo --show-current-patch --interactive --exec:shell --root --autosquash --no-autosquash --fork-point --no-fork-point --rebase-merges:text? --no-rebase-merges
      --empty:text --keep-empty --no-keep-empty --apply --merge --force-rebase --no-ff --ignore-date --committer-date-is-author-date --update-refs --no-update-refs --reschedule-failed-exec --ignore-whitespace --whitespace:text --apply`,
    operands: 'text*',
  },
  'cherry-pick': {
    options: `${mergeOptions} -x -r --mainline:text --allow-empty --keep-redundant-commits --empty:text --skip`,
    operands: 'text*',
  },
  revert: { options: `${mergeOptions} --mainline:text --reference --skip`, operands: 'text*' },
  tag: {
    options: `-a -s -l -n:text? -i -m:text -F:read -e -u:text -f!git/rewrite-history -d!git/rewrite-history -v --annotate --sign --no-sign --list --sort:text --color:text? --ignore-case --column:text? --contains:text? --no-contains:text? --merged:text?
      --no-merged:text? --points-at:text --message:text --file:read --edit --cleanup:text --create-reflog --format:text --force!git/rewrite-history --delete!git/rewrite-history --verify`,
    operands: 'text*',
  },
  worktree: {
    subcommands: {
      list: { options: '-v -z --verbose --porcelain' },
      add: {
        options:
          '-b:text -B:text!git/rewrite-history -d -q --detach --checkout --no-checkout --guess-remote --no-guess-remote --track --no-track --lock --reason:text --orphan --quiet -f --force',
        operands: 'write text?',
      },
      remove: { options: '-f!git/discard --force!git/discard', operands: 'delete' },
      prune: { options: '-n -v --dry-run --verbose --expire:text' },
      move: { operands: 'move write' },
      'lock|unlock': { options: '--reason:text', operands: 'list' },
      repair: { operands: 'directory*' },
    },
  },
  stash: {
    options:
      '-p -k -u -a -q -m:text -S --patch --keep-index --no-keep-index --include-untracked --all --quiet --message:text --staged --pathspec-from-file:read',
    operands: '',
    subcommands: {
      push: {
        options:
          '-p -k -u -a -q -m:text -S --patch --keep-index --no-keep-index --include-untracked --all --quiet --message:text --staged --pathspec-from-file:read',
        operands: 'list*',
      },
      save: { options: '-p -k -u -a -q --patch --keep-index --include-untracked --all --quiet', operands: 'text*' },
      list: commits,
      show: { options: `${diffOptions} --include-untracked --only-untracked`, operands: 'text*' },
      'apply|pop': { options: '-q --index --quiet', operands: 'text?' },
      branch: { operands: 'text text?' },
      create: { operands: 'text*' },
      'drop|clear': { asks: 'git/discard' },
    },
  },
};

const working: Programs = {
  status: looking(
    '-s -b -u:text? -v -z --short --branch --show-stash --porcelain:text? --long --verbose --untracked-files:text? --ignore-submodules:text? --ignored:text? --column:text? --ahead-behind --no-ahead-behind --renames --no-renames --find-renames:text?',
    'list*',
  ),
  add: {
    options:
      '-n -v -f -i -p -e -u -A -N --dry-run --verbose --force --sparse --interactive --patch --edit --update --all --no-all --no-ignore-removal --ignore-removal --intent-to-add --refresh --ignore-errors --ignore-missing --renormalize --chmod:text --pathspec-from-file:read --pathspec-file-nul',
    operands: 'read*',
  },
  commit: { options: commitOptions, operands: 'list*' },
  rm: { options: '-f -n -r -q --force --dry-run --cached --ignore-unmatch --sparse --quiet', operands: 'delete*' },
  mv: { options: '-f -k -n -v --force --dry-run --verbose', operands: 'move+ write', derives: true },
  restore: {
    options:
      '-s:text -p -W -S -q -m -2 -3 --source:text --patch --worktree --staged --quiet --progress --no-progress --ours --theirs --merge --conflict:text --ignore-unmerged --recurse-submodules --overlay --no-overlay --pathspec-from-file:read',
    operands: 'restored*',
    operandsWith: { '--worktree': 'restored*', '-W': 'restored*', '--staged': 'list*', '-S': 'list*' },
  },
  reset: {
    options:
      '-q -p -N --quiet --mixed --soft --patch --intent-to-add --refresh --no-refresh --keep --hard!git/discard --merge!git/discard --pathspec-from-file:read',
    operands: 'text*',
  },
  clean: {
    options: '-n -d -x -X -q -i -e:text -f --dry-run --force --quiet --exclude:text --interactive',
    operands: 'list*',
    asksWithout: ['-n --dry-run', 'git/discard'],
  },
  apply: {
    options:
      '-p:text -C:text -N -R -v -q -z -3 --stat --numstat --summary --check --index --cached --intent-to-add --3way --reverse --reject --exclude:text --include:text --ignore-space-change --ignore-whitespace --whitespace:text --inaccurate-eof --verbose --quiet --recount --directory:into --allow-empty',
    operands: 'read*',
    brings: 'patched',
    bringsUnless: '--stat --numstat --summary --check',
  },
  am: {
    options:
      '-s -k -b -c -3 -q -u -i --signoff --keep --keep-cr --no-keep-cr --3way --quiet --interactive --abort!git/discard --continue --skip --quit --ignore-whitespace --reject --empty:text --show-current-patch:text?',
    operands: 'read*',
    brings: 'patched',
  },
  'format-patch': {
    options: `${diffOptions} -N -k -n -o:write -v:text --output-directory:write --numbered --no-numbered --start-number:text --stdout --cover-letter --signoff --suffix:text --subject-prefix:text --thread:text? --no-thread --base:text --zero-commit --root --reroll-count:text --rfc --from:text? --progress -1 -#`,
    operands: 'text*',
  },
  bisect: {
    subcommands: {
      'start|good|bad|new|old|skip|log|view|visualize|terms|next|reset|help': {
        options: '--term-old:text --term-new:text --term-good:text --term-bad:text --no-checkout --first-parent --stat',
        operands: 'text*',
      },
      run: { operands: 'command', optionsFirst: true },
    },
  },
  init: { options: '-q -b:text --quiet --bare --object-format:text --initial-branch:text --shared:text?', operands: 'write?' },
  'sparse-checkout': {
    subcommands: {
      'list|reapply|check-rules|disable|init': { options: '--cone --no-cone' },
      'set|add': { options: '--cone --no-cone --skip-checks --stdin', operands: 'text*' },
    },
  },
  submodule: {
    options: '-q --quiet --cached',
    operands: '',
    subcommands: {
      'status|summary': { options: '-q --cached --recursive --files --summary-limit:text', operands: 'list*' },
      'init|sync': { options: '--recursive', operands: 'list*' },
      update: {
        options:
          '-q -f -N --init --remote --no-fetch --force --checkout --rebase --merge --recursive --depth:text --jobs:text --single-branch --recommend-shallow --no-recommend-shallow --progress --reference:read',
        operands: 'list*',
      },
      foreach: { options: '-q --recursive --quiet', operands: 'shell' },
      add: {
        options: '-b:text -f -q --branch:text --force --name:text --depth:text --quiet',
        operands: 'remote into?',
        brings: 'downloaded',
      },
      deinit: { options: '-f!git/discard --force!git/discard --all', operands: 'list*' },
    },
  },
};

const showing: Programs = {
  'log|whatchanged|show': commits,
  'rev-list': {
    options: `${diffOptions} ${logOptions} --disk-usage:text? --objects-edge --no-object-names --use-bitmap-index --header --missing:text --filter:text --quiet --no-commit-header`,
    operands: 'text*',
    prints: { '--count': 'name' },
  },
  'interpret-trailers': {
    options:
      '--trim-empty --trailer:text --where:text --no-where --if-exists:text --if-missing:text --only-trailers --only-input --unfold --parse --no-divider --in-place',
    operands: 'read*',
    operandsWith: { '--in-place': 'write*' },
  },
  diagnose: { options: '-o:write --output-directory:write --mode:text' },
  diff: { options: `${diffOptions} -1 -2 -3 -0 --base --ours --theirs`, operands: 'read*', prints: { '--name-only': 'paths' } },
  'diff-tree|diff-index|diff-files|range-diff': {
    options: `${diffOptions} ${logOptions} -r --root --no-commit-id -m --creation-factor:text --no-dual-color`,
    operands: 'text*',
  },
  'blame|annotate': {
    options:
      '-b -c -C:text? -e -f -h -l -L:text -M:text? -n -p -s -S:read -t -w --date:text --root --show-stats --score-debug --show-name --show-number --show-email --porcelain --line-porcelain --incremental --progress --no-progress --ignore-rev:text --ignore-revs-file:read --since:text --reverse:text --first-parent --color-lines --color-by-age --abbrev:text --minimal',
    operands: 'read*',
  },
  shortlog: { options: `${diffOptions} ${logOptions} -n -s -e -w:text? --numbered --summary --email --group:text -c`, operands: 'text*' },
  // The text of `--dirty` is printed behind the name, so it is left out.
  describe: {
    options:
      '--all --tags --contains --abbrev:text --candidates:text --exact-match --debug --long --match:text --exclude:text --always --first-parent --dirty --broken',
    operands: 'text*',
    prints: 'name',
  },
  'ls-files': {
    options:
      '-c -d -o -i -s -u -k -z -t -v -f -m -x:text -X:read --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory --no-empty-directory --eol --deduplicate --exclude:text --exclude-from:read --exclude-per-directory:text --exclude-standard --error-unmatch --full-name --recurse-submodules --abbrev:text? --debug --sparse',
    operands: 'list*',
    prints: 'paths',
  },
  'ls-tree': looking('-d -r -t -l -z --name-only --name-status --object-only --full-name --full-tree --abbrev:text? --long --format:text'),
  'ls-remote': {
    options: '-h -t -q --heads --branches --tags --refs --quiet --exit-code --get-url --sort:text --symref',
    operands: 'remote? text*',
  },
  'cat-file': looking(
    '-t -e -p -s --textconv --batch:text? --batch-check:text? --batch-all-objects --buffer --unordered --follow-symlinks --path:text',
    'read*',
  ),
  // Left out is what prints other places than the one of the repository, such as `--show-cdup`.
  'rev-parse': {
    options:
      '-q --verify --quiet --short:text? --abbrev-ref:text? --symbolic --symbolic-full-name --all --branches:text? --tags:text? --remotes:text? --glob:text --exclude:text --not --revs-only --no-revs --flags --no-flags --disambiguate:text --show-toplevel --git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-prefix --show-object-format:text? --since:text --after:text --until:text --before:text --end-of-options',
    operands: 'text*',
    prints: 'name',
  },
  'merge-base': { ...looking(''), prints: 'name' },
  'name-rev|for-each-ref|show-ref|show-branch|cherry|count-objects|var|check-ignore|check-attr|check-mailmap|verify-commit|verify-tag|fsck|version|column|stripspace|merge-tree|patch-id|get-tar-commit-id':
    looking(''),
  help: { options: '-a -g -c -m --all --guides --config --man --verbose --no-external-commands --no-aliases', operands: 'text*' },
  'request-pull': { options: '-p', operands: 'text remote text?' },
  'symbolic-ref': {
    options: '-q -d!git/rewrite-history --quiet --short --delete!git/rewrite-history --recurse --no-recurse -m:text',
    operands: 'text text?',
  },
  'hash-object': { options: '-t:text -w --stdin --path:text --no-filters --literally', operands: 'read*' },
  grep: {
    options: `-a -i -I -v -h -H -E -G -F -P -n -c -l -L -o -z -r -p -q -w -W -e:text -f:read -A:text -B:text -C:text -m:text -# --text --ignore-case --no-textconv --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --fixed-strings
      --perl-regexp --line-number --column --files-with-matches --name-only --files-without-match --only-matching --null --count --color:text? --no-color --break --heading --show-function --function-context --context:text
      --after-context:text --before-context:text --max-depth:text --max-count:text --threads:text --and --or --not --all-match --quiet --cached --untracked --no-index --recurse-submodules --exclude-standard --no-exclude-standard`,
    operands: 'text read*',
    operandsWith: { '-e': 'read*', '-f': 'read*' },
    prints: { '-l': 'paths', '--files-with-matches': 'paths', '--name-only': 'paths' },
  },
  reflog: {
    options: `${diffOptions} ${logOptions}`,
    operands: 'text*',
    subcommands: { show: commits, 'exists|list': looking(''), 'expire|delete': { asks: 'git/rewrite-history' } },
  },
  notes: {
    operands: '',
    subcommands: {
      'list|show|get-ref': looking(''),
      'add|append|edit|copy': { options: '-f -m:text -F:read -C:text -c:text --allow-empty --stdin', operands: 'text*' },
    },
  },
  archive: {
    options:
      '-l -v -o:write --list --verbose --format:text --prefix:text --output:write --worktree-attributes --add-file:read --mtime:text -0 -1 -2 -3 -4 -5 -6 -7 -8 -9',
    operands: 'text*',
  },
  bundle: {
    subcommands: {
      create: { options: `${logOptions} -q --quiet --progress --version:text`, operands: 'write text*' },
      'verify|list-heads': { options: '-q --quiet', operands: 'read text*' },
    },
  },
  gc: { options: '--auto --quiet -q --no-prune --no-detach --prune:text!git/discard --aggressive!git/discard' },
  maintenance: { subcommands: { run: { options: '--auto --quiet --task:text' } } },
  'write-tree|update-index|read-tree|commit-tree|mktree|pack-refs|repack|prune-packed|commit-graph|multi-pack-index|rerere': {
    asks: 'program/subcommand',
  },
};

const sharing: Programs = {
  clone: {
    options: `-l -s -q -v -n -o:text -b:text -j:text --local --no-local --no-hardlinks --shared --reference:read --dissociate --quiet --verbose --progress --no-checkout --bare --mirror --origin:text --branch:text --depth:text --shallow-since:text
      --shallow-exclude:text --single-branch --no-single-branch --no-tags --recurse-submodules:text? --recursive --shallow-submodules --no-shallow-submodules --remote-submodules --jobs:text --sparse --filter:text --also-filter-submodules -c:setting --config:setting -4 -6`,
    operands: 'remote into?',
    brings: 'downloaded',
  },
  fetch: { options: fetchOptions, operands: 'remote? text*', brings: 'addressed' },
  pull: { options: `${fetchOptions} ${mergeOptions} -r:text? --rebase:text? --no-rebase`, operands: 'remote? text*', brings: 'addressed' },
  push: {
    options: `-n -u -q -v -4 -6 -o:text --all --branches --tags --follow-tags --no-follow-tags --dry-run --porcelain --set-upstream --quiet --verbose --progress --no-progress --atomic --no-atomic --signed:text? --thin --no-thin --push-option:text
      --recurse-submodules:text --no-recurse-submodules --verify --no-verify!git/skip-checks -f!git/rewrite-history --force!git/rewrite-history --force-with-lease:text?!git/rewrite-history --force-if-includes --mirror!git/rewrite-history -d!git/rewrite-history
      --delete!git/rewrite-history --prune!git/rewrite-history`,
    operands: 'remote? refspec*',
  },
  remote: {
    options: '-v --verbose',
    operands: '',
    subcommands: {
      show: { options: '-n', operands: 'remote*' },
      'get-url': { options: '--push --all', operands: 'text' },
      // Security: a later push goes there.
      'add|set-url': { asks: 'network/remote' },
      'remove|rm|rename': { options: '--progress', operands: 'text*' },
      prune: { options: '-n --dry-run', operands: 'text*' },
      update: { options: '-p --prune', operands: 'text*' },
      'set-branches|set-head': { options: '--add -a -d --auto --delete', operands: 'text*' },
    },
  },
  lfs: {
    subcommands: {
      'ls-files|status|env|version|logs': looking(''),
      'fetch|pull|install|checkout|track': { options: '--local --all --include:text --exclude:text', operands: 'text*' },
    },
  },
};

const settings: Programs = {
  config: {
    options: `-l -z --list --get --get-all --get-regexp --get-urlmatch --global --local --system --worktree --show-origin --show-scope --name-only --null --type:text --bool --int --path --includes --no-includes --default:text
      --add --unset!persistence/git --unset-all!persistence/git --replace-all --rename-section!persistence/git --remove-section!persistence/git -e!persistence/git --edit!persistence/git`,
    operands: 'text',
    operandsWith: { '--get': 'text text?', '--get-all': 'text text?', '--get-regexp': 'text text?', '--get-urlmatch': 'text text' },
    subcommands: {
      'list|get': {
        options: '--global --local --system --show-origin --show-scope --name-only --all --regexp --value:text --default:text --null -z',
        operands: 'text*',
      },
      'set|unset|rename-section|remove-section|edit': { asks: 'persistence/git' },
      // Setting one of these changes nothing that git runs.
      'user.name|user.email|init.defaultBranch|pull.rebase|pull.ff|push.default|push.autoSetupRemote|core.autocrlf|core.filemode|core.quotepath|commit.gpgsign|tag.gpgsign|color.ui|advice.detachedHead|merge.conflictstyle|rerere.enabled|rebase.autoStash|fetch.prune|diff.algorithm|core.longpaths|core.ignorecase':
        {
          operands: 'text?',
        },
    },
  },
  'credential|credential-store|credential-cache': { asks: 'credentials/store' },
  'filter-branch|filter-repo|replace|update-ref': { asks: 'git/rewrite-history' },
  'difftool|mergetool|daemon|instaweb|send-email|http-backend|shell|upload-pack|receive-pack|fast-import|svn|p4|hook|web--browse|imap-send':
    { asks: 'code/unseen' },
};

const subcommands: Programs = { ...branching, ...working, ...showing, ...sharing, ...settings };

export const gitPrograms: Programs = {
  git: {
    options: `-v -h -p -P -C:directory -c:setting --version --help --no-pager --paginate --git-dir:directory --work-tree:directory --bare --no-replace-objects --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks
      --html-path --man-path --info-path --exec-path --no-lazy-fetch --no-advice --namespace:text`,
    subcommands,
  },
};
