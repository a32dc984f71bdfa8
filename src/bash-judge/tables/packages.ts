import { each, type Program, type Programs } from './program.ts';

const installs: Program = { asks: 'packages/install' };
const removes: Program = { asks: 'packages/remove' };
const lists = (options = ''): Program => ({ options: `-h --help -v -q --quiet --verbose ${options}`, operands: 'text*' });

const apt: Program = {
  options: '-q -y -qq --version --help',
  subcommands: {
    'list|show|search|policy|depends|rdepends|showpkg|madison|pkgnames|changelog|check|download-size': lists(
      '-a --installed --upgradable --all-versions --names-only -n --recurse --installed',
    ),
    'remove|purge|autoremove|autopurge|clean|autoclean': removes,
    'install|reinstall|upgrade|full-upgrade|dist-upgrade|update|build-dep|source|download|edit-sources|satisfy': installs,
  },
};

export const packagePrograms: Programs = {
  ...each('apt apt-get apt-cache aptitude', apt),
  'apt-mark': { subcommands: { 'showmanual|showauto|showhold': lists() }, asks: 'packages/install' },
  dpkg: {
    options:
      '-l -L -s -S -p -c -I --list --listfiles --status --search --print-architecture --get-selections --version -i!packages/install --install!packages/install -r!packages/remove -P!packages/remove --remove!packages/remove --purge!packages/remove --unpack!packages/install --configure!packages/install',
    operands: 'text*',
  },
  'dpkg-query': { options: '-l -L -s -S -W -f:text --list --show --showformat:text --status', operands: 'text*' },
  rpm: {
    options:
      '-q -a -l -i -f -c -d -R -V --query --all --list --info --requires --provides --changelog --queryformat:text --qf:text -e!packages/remove -U!packages/install -F!packages/install --erase!packages/remove --install!packages/install --upgrade!packages/install',
    operands: 'text*',
    asksWithout: ['-q --query -V', 'packages/install'],
  },
  ...each('dnf yum microdnf zypper', {
    options: '-q -v -y --version',
    subcommands: {
      'list|info|search|repolist|provides|whatprovides|history|check-update|deplist|repoquery': lists('--installed --available'),
      'remove|erase|autoremove|rm': removes,
      'install|reinstall|update|upgrade|downgrade|groupinstall|distro-sync': installs,
    },
  }),
  apk: {
    subcommands: {
      'info|list|search|policy|version|stats': lists('-a -e -L -I --installed'),
      del: removes,
      'add|update|upgrade|fix': installs,
    },
  },
  pacman: { options: '-Q -i -l -o -s -e -t -u -q -S!packages/install -U!packages/install -R!packages/remove -F -V', operands: 'text*' },
  brew: {
    options: '--version --prefix --cellar --repository',
    operands: '',
    subcommands: {
      'list|ls|info|search|outdated|deps|uses|config|doctor|leaves|desc|home|log|--prefix': lists(
        '--versions --cask --formula --json:text? --tree --installed',
      ),
      'uninstall|remove|rm|cleanup|autoremove|unlink': removes,
      'install|reinstall|upgrade|update|tap|link|services|bundle|pin': installs,
    },
  },
  snap: {
    subcommands: {
      'list|info|find|version|connections': lists('--all'),
      'remove|disable|revert': removes,
      'install|refresh|enable|connect|run': installs,
    },
  },
  flatpak: {
    subcommands: {
      'list|info|search|remotes|history': lists('--app --runtime'),
      'uninstall|remove': removes,
      'install|update|run|override|remote-add': installs,
    },
  },
  ...each(
    'nix-env nix-shell nix-build nix nixos-rebuild guix port emerge xbps-install eopkg opkg tdnf asdf mise sdk choco scoop winget cpan cpanm luarocks',
    installs,
  ),
  ...each('add-apt-repository apt-key update-alternatives dpkg-reconfigure dpkg-divert ldconfig update-ca-certificates', installs),
};
