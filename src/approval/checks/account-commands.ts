import type { CommandRule } from './command-rule.ts';

/** Accounts, packages and what is published. */
export const accountCommands: readonly CommandRule[] = [
  {
    rule: 'accounts/change',
    program:
      /^(?:useradd|userdel|usermod|adduser|deluser|addgroup|delgroup|groupadd|groupdel|groupmod|gpasswd|chpasswd|newusers|chsh|chfn|vipw|vigr|visudo|chage|pwconv|pwunconv|grpconv|newusers|sysadminctl|dseditgroup|lchsh|luseradd|smbpasswd|htpasswd|pw|usermgmt|sss_useradd)$/,
    unless: /^(?:-l \S+|--list \S+|-c|--check)$/,
  },
  { rule: 'accounts/change', program: /^passwd$/, unless: /^(?:-S|--status|-Sa)(?: |$)/ },
  { rule: 'accounts/change', program: /^dscl$/, any: /^-?(?:create|delete|append|passwd|change|merge)$/ },
  { rule: 'accounts/change', program: /^(?:realm|net)$/, words: /^(?:join|leave|user|localgroup|permit|deny)$/ },
  {
    rule: 'accounts/root-shell',
    program: /^(?:nsenter|machinectl|login|newgrp|sg|capsh)$/,
    any: /./,
    unless: /^(?:list\S*|status|show|--print|--version|image-status).*$/,
  },
  {
    rule: 'packages/remove',
    program:
      /^(?:apt|apt-get|aptitude|nala|yum|dnf|microdnf|zypper|tdnf|urpme|eopkg|xbps-remove|opkg|swupd|rpm-ostree|slackpkg|pkg|pkgin|port|snap|flatpak|brew|choco|winget|scoop|guix|tlmgr)$/,
    words:
      /^(?:remove|purge|autoremove|autoclean-all|erase|rm|un?install|del|delete|deinstall|bundle-remove|full-upgrade|dist-upgrade|downgrade|reset)$/,
    within: 3,
    unless: /(?:^| )(?:-s|--simulate|--dry-run|--just-print|--no-act)(?: |$)/,
  },
  { rule: 'packages/remove', program: /^(?:apk)$/, words: /^(?:del|fix)$/, within: 2 },
  { rule: 'packages/remove', program: /^dpkg$/, any: /^(?:-r|-P|--remove|--purge|--force-\S+|--clear-selections|--set-selections)$/ },
  { rule: 'packages/remove', program: /^rpm$/, any: /^(?:-\w*e\w*|--erase|--nodeps)$/, unless: /^-q/ },
  { rule: 'packages/remove', program: /^(?:pacman|yay|paru)$/, any: /^-\w*R/ },
  { rule: 'packages/remove', program: /^(?:emerge)$/, any: /^(?:-\w*[cC]\w*|--unmerge|--depclean|--prune)$/ },
  { rule: 'packages/remove', program: /^nix-env$/, any: /^(?:-e|--uninstall)$/ },
  { rule: 'packages/remove', program: /^(?:nix-collect-garbage)$/, any: /^-d|--delete/ },
  {
    rule: 'packages/remove',
    program: /^(?:pip[\d.]*|pipx|uv|conda|mamba|micromamba)$/,
    words: /^(?:uninstall|uninstall-all|remove)$/,
    within: 2,
  },
  {
    rule: 'packages/remove',
    program: /^(?:npm|pnpm|yarn|bun)$/,
    words: /^(?:un?install|remove|rm|un|r|global)$/,
    text: /(?:^| )(?:-g|--global|--location=global|global remove)(?: |$)/,
    unless: /^(?:i|install|add|ls|list|root|bin|prefix|config|outdated|update) /,
    within: 2,
  },
  { rule: 'packages/remove', program: /^(?:gem)$/, words: /^(?:uninstall|cleanup)$/ },
  {
    rule: 'packages/publish',
    program: /^(?:npm|pnpm|yarn|bun)$/,
    words: /^(?:publish|unpublish|deprecate|owner|dist-tag|access|token)$/,
    unless: /--dry-run|^(?:owner|dist-tag|access|token) (?:ls|list)/,
  },
  {
    rule: 'packages/publish',
    program: /^(?:cargo|poetry|flit|hatch|gem|pdm|uv|rye|dotnet|mix|pod|vsce|ovsx|lerna|changeset|semantic-release|np|twine|jsr|helm)$/,
    words: /^(?:publish|yank|push|unyank|upload|hex\.publish|trunk|owner)$/,
    within: 2,
    unless: /--dry-run|^owner --list|^chart/,
  },
  {
    rule: 'packages/publish',
    program: /^gh$/,
    text: /^(?:release (?:create|delete|edit|upload)|repo (?:delete|archive|rename|edit|transfer|create .*--public)|secret (?:set|delete|remove)|variable (?:set|delete)|ssh-key add|gpg-key add|auth (?:refresh|login|logout)|workflow (?:disable|run)|pr merge|issue delete|run delete|cache delete|api .*(?:-X|--method)[ =]?(?:DELETE|PUT|PATCH))/,
  },
  {
    rule: 'packages/publish',
    program: /^glab$/,
    text: /^(?:release (?:create|delete)|repo (?:delete|archive|transfer)|mr merge|variable (?:set|delete)|ssh-key add)/,
  },
];
