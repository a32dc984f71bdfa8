import type { RuleId } from './rules.ts';

export const systemDirectories = [
  ...[
    'bin',
    'sbin',
    'lib',
    'lib32',
    'lib64',
    'libx32',
    'boot',
    'dev',
    'etc',
    'home',
    'media',
    'mnt',
    'opt',
    'proc',
    'root',
    'run',
    'srv',
    'sys',
    'usr',
    'var',
  ],
  ...['nix', 'snap', 'Users', 'System', 'Library', 'Applications', 'Volumes', 'private'],
].map((name) => `/${name}`);

export const systemRoots = [
  '/',
  ...systemDirectories,
  ...['/usr/bin', '/usr/sbin', '/usr/lib', '/usr/lib64', '/usr/share', '/usr/local', '/usr/local/bin', '/usr/local/lib', '/usr/include'],
  ...[
    '/var/lib',
    '/var/log',
    '/var/spool',
    '/var/www',
    '/var/run',
    '/etc/ssh',
    '/etc/systemd',
    '/boot/efi',
    '/boot/grub',
    '/lib/modules',
    '/lib/systemd',
  ],
];

export const rawDisk =
  /^\/dev\/(?:[shvx]v?d[a-z*?[]|sd|hd|vd|nvme|mmcblk|disk|rdisk|mapper\/|dm-|md\d|loop\d|mem$|kmem$|port$|nbd|zd\d|mtd|dasd|pmem|bcache|ada\d|da\d)/;

export const plainDevices = /^\/dev\/(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd\/\uE007?\d+)$/;

export const system =
  /^\/(?:etc|usr|bin|sbin|lib|lib32|lib64|libx32|boot|sys|proc|dev|var|opt|srv|root|run|nix|System|Library|Applications)(?:\/|$)/;

export const startup: readonly (readonly [RegExp, RuleId])[] = [
  [
    /\/\.ssh\/(?:authorized_keys2?|rc|environment|config|known_hosts\.d)$|^\/etc\/ssh\/|\/\.(?:r|s)hosts$|^\/etc\/hosts\.equiv$/,
    'persistence/remote-login',
  ],
  [/^\/etc\/(?:cron[^/]*|anacrontab|at\.(?:allow|deny))(?:\/|$)|^\/var\/spool\/(?:cron|at|anacron)(?:\/|$)/, 'persistence/schedule'],
  [
    /\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|cshrc|tcshrc|login|mkshrc)$/,
    'persistence/startup',
  ],
  [
    /\/\.(?:xinitrc|xprofile|xsession|xsessionrc|pam_environment|envrc|inputrc|vimrc|emacs|screenrc|tmux\.conf|gdbinit|pythonrc|irbrc|Rprofile)$/,
    'persistence/startup',
  ],
  [
    /\/\.config\/(?:fish|autostart|nvim|systemd|environment\.d|plasma-workspace)(?:\/|$)|\/\.(?:oh-my-zsh|vim|emacs\.d|local\/share\/systemd)(?:\/|$)/,
    'persistence/startup',
  ],
  [
    /^\/(?:etc|lib|usr\/lib|usr\/local\/lib|run)\/systemd\/|\.(?:service|timer|socket)$|\/Library\/Launch(?:Agents|Daemons)(?:\/|$)/,
    'persistence/startup',
  ],
  [
    /^\/etc\/(?:profile|profile\.d|bash\.bashrc|bashrc|zsh|zshrc|zshenv|environment|rc\.local|init\.d|init|rc\d?\.d|ld\.so\.preload|ld\.so\.conf|pam\.d|xdg\/autostart|update-motd\.d)/,
    'persistence/startup',
  ],
  [
    /\/\.(?:curlrc|wgetrc|terraformrc|tofurc|ansible\.cfg|psqlrc|sqliterc|duckdbrc|lldbinit|pdbrc|pryrc|mavenrc|antrc|lessfilter|lesskey|mailcap|gemrc|bunfig\.toml|ripgreprc|jq|hgrc|direnvrc|asdfrc|octaverc|perldb|pydistutils\.cfg|bash_completion|nanorc|muttrc)$/,
    'persistence/startup',
  ],
  [
    /\/\.(?:cargo\/config(?:\.toml)?|gradle\/init\.(?:d\/.*|gradle(?:\.kts)?)|pip\/pip\.conf|mcp\.json|cursor\/(?:mcp|hooks)\.json|claude\/settings(?:\.local)?\.json|claude\/hooks(?:\/.*)?|gemini\/settings\.json|codex\/(?:config\.toml|hooks\.json)|vscode\/tasks\.json|hg\/hgrc|julia\/config\/startup\.jl)$/,
    'persistence/startup',
  ],
  [
    /\/\.(?:sbt|jq|husky|docker\/cli-plugins|ipython|jupyter|local\/bin|local\/share\/(?:applications|bash-completion|dbus-1))(?:\/|$)|\/sessions\/[^/]+\/home\/bin(?:\/|$)|\/node_modules\/\.bin(?:\/|$)/,
    'persistence/startup',
  ],
  [
    /\/\.config\/(?:pip|uv|wget|curl|direnv|bat|ripgrep|mise|Code|VSCodium|Cursor|i3|sway|hypr|kitty|alacritty|wezterm|tmux|zellij|helix|emacs|zsh|nushell|powershell|mpv|ranger|lf|opencode)(?:\/|$)|\/\.config\/curlrc$/,
    'persistence/startup',
  ],
  [/\/(?:site|dist)-packages\/[^/]*\.pth$|\/(?:site|user)customize\.py$/, 'persistence/startup'],
  // What git keeps says which programs it runs: hooks, settings, attributes. A pattern may be its name.
  [
    /\/\.git(?:$|\/(?!info\/exclude$|(?:COMMIT_EDIT|MERGE_|SQUASH_)MSG$))|\/\.(?:g|gi|git)?[*?[][^/]*(?:\/|$)|\/\.gitconfig$|\/\.config\/git\/|^\/etc\/gitconfig$/,
    'persistence/git',
  ],
];

export const keyName = /(?:^|\/)(?:id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:[._-](?!pub\b)[\w-]+)?|identity)$/;

export const credentialFiles = new RegExp(
  [
    '/\\.ssh(?:/(?!(?:known_hosts|config|.*\\.pub)$).*)?$',
    '/\\.(?:databrickscfg|sentryclirc|authinfo(?:\\.gpg)?|fetchmailrc|mbsyncrc|offlineimaprc|smbcredentials|vault_pass(?:\\.txt)?|Xauthority|claude\\.json|pip/pip\\.conf)$',
    '/\\.(?:claude/\\.credentials\\.json|codex/auth\\.json|gemini/oauth_creds\\.json|fly/config\\.yml|railway/config\\.json|netlify/config\\.json|pulumi/credentials\\.json|kaggle/kaggle\\.json|dbt/profiles\\.yml|hex/hex\\.config|nuget/NuGet/NuGet\\.Config|(?:ivy2|sbt)/\\.credentials)$',
    '/\\.(?:snowflake|snowsql|huggingface|cloudflared|wrangler|vercel|ngrok2|davfs2|purple|lastpass)(?:/|$)|/\\.cache/huggingface/(?:token|stored_tokens)$|/\\.local/share/(?:opencode|com\\.vercel\\.cli)/auth\\.json$|/\\.local/share/fish/fish_history$',
    '^/(?:root|(?:home|Users)/[^/]+)/\\.bundle/config$|^/run/user/\\d+/(?:containers/auth\\.json|keyring|gnupg)|^/etc/(?:NetworkManager/system-connections|wpa_supplicant|wireguard|openvpn|ppp/(?:chap|pap)-secrets|ipsec\\.secrets|mysql/debian\\.cnf)(?:/|$)',
    '/\\.(?:netrc|pgpass|pypirc|git-credentials|my\\.cnf|mylogin\\.cnf|s3cfg|boto|vault-token|dockercfg|htpasswd|cargo/credentials(?:\\.toml)?|rclone\\.conf|msmtprc|npmrc|yarnrc\\.yml)$',
    '/\\.(?:aws|azure|gnupg|gcloud|password-store|oci|terraform\\.d|bitcoin|electrum|mozilla|thunderbird|local/share/keyrings)(?:/|$)',
    '/\\.config/(?:gcloud|gh|hub|op|doctl|rclone|google-chrome|chromium|BraveSoftware|sops|age|containers/auth\\.json|heroku|configstore|hcloud|github-copilot|composer/auth\\.json|pip/pip\\.conf|NuGet/NuGet\\.Config|snowflake|kaggle|Slack|discord|Signal|Bitwarden|microsoft-edge|vivaldi|opera|netlify|ngrok|stripe|helm/registry|filezilla|keybase|\\.wrangler)(?:/|$)',
    '/\\.(?:kube/config|docker/config\\.json|config/git/credentials|gem/credentials|m2/settings\\.xml|gradle/gradle\\.properties|composer/auth\\.json|subversion/auth)',
    '/Library/(?:Keychains|Application Support/(?:Google/Chrome|Firefox|com\\.apple\\.TCC))',
    '^/etc/(?:shadow|gshadow|sudoers|security/opasswd|krb5\\.keytab|ssl/private|ssh/ssh_host_[a-z0-9]*_key|master\\.passwd)(?:[-~.].*)?(?:/|$)',
    '/\\.(?:bash|zsh|sh|python|mysql|psql|node_repl)_history$|^/proc/[^/]+/(?:environ|mem)$|^/run/secrets(?:/|$)|^/var/run/secrets(?:/|$)|^/etc/kubernetes/',
    '^/var/lib/(?:docker|kubelet)/|^/etc/rancher/',
  ].join('|'),
);

/** Often a secret, often not: only what shows or copies them counts. */
export const doubtful =
  /(?:^|[/:])(?:\.env(?:\.(?!example|sample|template|dist|test|ci|defaults?|schema)[\w.-]+)?|[\w.-]*(?:private|secret|priv)[\w-]*\.(?:pem|key)|[\w.-]*key\.pem|[\w.-]+\.(?:key|p12|pfx|jks|keystore|kdbx|ppk|ovpn)|(?:credentials|secrets?|service[-_]account[\w-]*)(?:\.(?:json|ya?ml|txt|toml|ini))?|\.?passwords?(?:\.\w+)?)$/;

/** Concrete places to hold a pattern against. */
export const examples = [
  '.ssh',
  '.ssh/id_rsa',
  '.ssh/id_ed25519',
  '.aws/credentials',
  '.netrc',
  '.git-credentials',
  '.kube/config',
  '.docker/config.json',
  '.gnupg/x',
  '.npmrc',
  '.config/gh/hosts.yml',
  '.config/pip/pip.conf',
  '.claude/.credentials.json',
  '.claude.json',
  '.codex/auth.json',
  '.cargo/credentials.toml',
  '.cache/huggingface/token',
  '.kaggle/kaggle.json',
  '.pypirc',
  '.pgpass',
  '.vault-token',
];

export const systemExamples = [
  '/etc/shadow',
  '/etc/sudoers',
  '/proc/1/environ',
  '/proc/self/environ',
  '/root/.ssh/id_rsa',
  '/home/user/.ssh/id_rsa',
];
