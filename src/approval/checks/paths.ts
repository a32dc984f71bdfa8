import type { RuleId } from '../rules.ts';
import { globExpression, isPattern } from '../shell/glob.ts';
import type { State } from '../shell/state.ts';

/**
 * Without `.`, `..`, doubled slashes and the other names a Mac and Linux give to the same places. With a directory: to a process that
 * works there.
 */
export function normalised(path: string, directory?: string): string {
  if (/^\/[^/]/.test(path) && !/\/(?:\.|\/|$)|^\/(?:proc|private|System)/.test(path)) return path;
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
    if (directory !== undefined && /^proc\/[^/]+\/cwd$/.test(segments.join('/'))) segments.splice(0, 3, ...directory.slice(1).split('/'));
  }
  const clean = `/${segments.join('/')}`;
  const [, other] = /^\/proc\/(?:self|thread-self|\d+)\/root(\/.*)?$/.exec(clean) ?? [];
  if (other !== undefined || /^\/proc\/(?:self|\d+)\/root$/.test(clean)) return other ?? '/';
  return clean.replace(/^\/private(?=\/(?:etc|var|tmp)(?:\/|$))/, '').replace(/^\/System\/Volumes\/Data(?=\/|$)/, '') || '/';
}

function isInside(path: string, directory: string): boolean {
  return directory === '/' || path === directory || path.startsWith(`${directory}/`);
}

/** Whether a path, perhaps a pattern, may be this one. */
function mayBe(path: string, concrete: string): boolean {
  if (!isPattern(path)) return path === concrete;
  return globExpression(path, false)?.test(concrete) ?? true;
}

/** Whether a path, perhaps a pattern, is or may be inside of a directory. */
function mayBeInside(path: string, directory: string): boolean {
  if (isInside(path, directory)) return true;
  if (!isPattern(path)) return false;
  const depth = directory.split('/').length;
  return mayBe(path.split('/').slice(0, depth).join('/'), directory);
}

const systemDirectories = [
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
const systemRoots = [
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

/** A pattern for (nearly) everything in a directory. */
const everything = /^(?:[*?]+|\.\*|\.\[[!^]\.\]\*|\.\?+\*?|\*\.\*|\[[!^]?\.?[^\]]*\]\*|\{[^}]*\*[^}]*\}|\.\.\?\*)$/;

/** The directory whose whole contents a pattern means, or the path itself. */
export function wholeDirectory(path: string): string {
  let result = path;
  while (result !== '/' && everything.test(result.slice(result.lastIndexOf('/') + 1))) {
    result = result.slice(0, result.lastIndexOf('/')) || '/';
  }
  return result;
}

/** Whether removing it would remove the system or a home. */
export function isProtectedRoot(path: string, state: State): boolean {
  const home = normalised(state.circumstances.home || '/root');
  const whole = wholeDirectory(path);
  const candidates = new Set([path, whole]);
  for (const candidate of candidates) {
    if (isInside(home, candidate) || /^\/(?:home|Users)\/[^/]+$/.test(candidate)) return true;
    if (systemRoots.some((root) => mayBe(candidate, root) && !(isPattern(candidate) && root === '/'))) return true;
    if (isPattern(candidate) && mayBe(candidate, home)) return true;
  }
  return false;
}

const rawDisk =
  /^\/dev\/(?:[shvx]v?d[a-z*?[]|sd|hd|vd|nvme|mmcblk|disk|rdisk|mapper\/|dm-|md\d|loop\d|mem$|kmem$|port$|nbd|zd\d|mtd|dasd|pmem|bcache|ada\d|da\d)/;
const plainDevices =
  /^\/dev\/(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty.*|pts\/.*|fd\/.*|shm(?:\/.*)?|ptmx|console|(?:tcp|udp)\/.*)$/;
const writableSystem =
  /^\/(?:var\/tmp|var\/folders|dev\/shm|run\/user\/\d+|run\/lock|proc\/self\/fd|usr\/src\/app|var\/cache\/apt)(?:\/|$)/;
const system =
  /^\/(?:etc|usr|bin|sbin|lib|lib32|lib64|libx32|boot|sys|proc|dev|var|opt|srv|root|run|nix|System|Library|Applications)(?:\/|$)/;

export function isRawDisk(path: string): boolean {
  return rawDisk.test(path) || (isPattern(path) && ['/dev/sda', '/dev/nvme0n1', '/dev/vda'].some((disk) => mayBe(path, disk)));
}

export function isSystemPath(path: string, state: State): boolean {
  if (path === '/' || systemDirectories.includes(path)) return true;
  const home = normalised(state.circumstances.home || '/root');
  if ((home !== '/' && isInside(path, home)) || plainDevices.test(path) || writableSystem.test(path)) return false;
  // Where the session works is where it is meant to work, also below /opt or /srv.
  if (
    /^\/(?:opt|srv|var\/www|root|usr\/src)\//.test(path) &&
    state.workingDirectories.some((directory) => directory !== '/' && isInside(path, directory))
  )
    return false;
  return system.test(path) || (isPattern(path) && systemDirectories.some((directory) => mayBeInside(path, directory)));
}

const startup: readonly (readonly [RegExp, RuleId])[] = [
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

const keyName = /(?:^|\/)(?:id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:[._-](?!pub\b)[\w-]+)?|identity)$/;
const credentialFiles = new RegExp(
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
const doubtful =
  /(?:^|\/)(?:\.env(?:\.(?!example|sample|template|dist|test|ci|defaults?|schema)[\w.-]+)?|[\w.-]*(?:private|secret|priv)[\w-]*\.(?:pem|key)|[\w.-]*key\.pem|[\w.-]+\.(?:key|p12|pfx|jks|keystore|kdbx|ppk|ovpn)|(?:credentials|secrets?|service[-_]account[\w-]*)(?:\.(?:json|ya?ml|txt|toml|ini))?|\.?passwords?(?:\.\w+)?)$/;

/** Concrete places to hold a pattern against. */
const examples = [
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
const systemExamples = [
  '/etc/shadow',
  '/etc/sudoers',
  '/proc/1/environ',
  '/proc/self/environ',
  '/root/.ssh/id_rsa',
  '/home/user/.ssh/id_rsa',
];

export function isCredential(path: string, state: State): boolean {
  if (keyName.test(path) || credentialFiles.test(path)) return true;
  if (!isPattern(path)) return false;
  const home = normalised(state.circumstances.home || '/root');
  return [...examples.map((name) => `${home}/${name}`), ...systemExamples].some((example) => mayBe(path, example));
}

export function isDoubtfulCredential(path: string): boolean {
  return doubtful.test(path) || (isPattern(path) && mayBe(path.slice(path.lastIndexOf('/') + 1), '.env'));
}

export function isOfSession(path: string, state: State): boolean {
  return (state.circumstances.sessionPaths ?? []).some((own) => isInside(path, normalised(own)));
}

export function isOwn(path: string, state: State): boolean {
  if (isOfSession(path, state)) return false;
  return state.circumstances.ownPaths.some(
    (own) => mayBeInside(path, normalised(own)) || (isPattern(path) && mayBe(path, normalised(own))),
  );
}

/** Whether a directory has Hermetic's own files somewhere below it. */
export function holdsOwn(path: string, state: State): boolean {
  if (isOfSession(path, state)) return false;
  const whole = wholeDirectory(path);
  return state.circumstances.ownPaths.some((own) => isInside(normalised(own), whole) || mayBeInside(path, normalised(own)));
}

/** What it means that something is written, moved or removed there. */
export function startupRule(path: string): RuleId | undefined {
  return startup.find(([expression]) => expression.test(path))?.[1];
}
