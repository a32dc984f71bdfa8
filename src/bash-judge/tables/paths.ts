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

export const plainDevices = /^\/dev\/(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd\/\d+)$/;

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
  [/\/\.git\/(?:hooks(?:\/|$)|config$)|\/\.gitconfig$|\/\.config\/git\/|^\/etc\/gitconfig$|\/\.husky\/_/, 'persistence/git'],
];

export const keyName = /(?:^|\/)(?:id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:[._-](?!pub\b)[\w-]+)?|identity)$/;

export const credentialFiles = new RegExp(
  [
    '/\\.ssh(?:/(?!(?:known_hosts|config|.*\\.pub)$).*)?$',
    '/\\.(?:netrc|pgpass|pypirc|git-credentials|my\\.cnf|mylogin\\.cnf|s3cfg|boto|vault-token|dockercfg|htpasswd|cargo/credentials(?:\\.toml)?|rclone\\.conf|msmtprc|npmrc|yarnrc\\.yml)$',
    '/\\.(?:aws|azure|gnupg|gcloud|password-store|oci|terraform\\.d|bitcoin|electrum|mozilla|thunderbird|local/share/keyrings)(?:/|$)',
    '/\\.config/(?:gcloud|gh|hub|op|doctl|rclone|google-chrome|chromium|BraveSoftware|sops|age|containers/auth\\.json|heroku|configstore|hcloud)(?:/|$)',
    '/\\.(?:kube/config|docker/config\\.json|config/git/credentials|gem/credentials|m2/settings\\.xml|gradle/gradle\\.properties|composer/auth\\.json|subversion/auth)',
    '/Library/(?:Keychains|Application Support/(?:Google/Chrome|Firefox|com\\.apple\\.TCC))',
    '^/etc/(?:shadow|gshadow|sudoers|security/opasswd|krb5\\.keytab|ssl/private|ssh/ssh_host_[a-z0-9]*_key|master\\.passwd)(?:[-~.].*)?(?:/|$)',
    '/\\.(?:bash|zsh|sh|python|mysql|psql|node_repl)_history$|^/proc/[^/]+/(?:environ|mem)$|^/run/secrets(?:/|$)|^/var/run/secrets(?:/|$)|^/etc/kubernetes/',
    '^/var/lib/(?:docker|kubelet)/|^/etc/rancher/',
  ].join('|'),
);

/** Often a secret, often not: only what shows or copies them counts. */
export const doubtful =
  /(?:^|\/)(?:\.env(?:\.(?!example|sample|template|dist|test|ci|defaults?|schema)[\w.-]+)?|[\w.-]*(?:private|secret|priv)[\w-]*\.(?:pem|key)|[\w.-]*key\.pem|[\w.-]+\.(?:key|p12|pfx|jks|keystore|kdbx|ppk|ovpn)|(?:credentials|secrets?|service[-_]account[\w-]*)(?:\.(?:json|ya?ml|txt|toml|ini))?|\.?passwords?(?:\.\w+)?)$/;

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
];

export const systemExamples = [
  '/etc/shadow',
  '/etc/sudoers',
  '/proc/1/environ',
  '/proc/self/environ',
  '/root/.ssh/id_rsa',
  '/home/user/.ssh/id_rsa',
];
