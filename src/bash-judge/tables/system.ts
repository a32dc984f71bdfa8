import { each, type Program, type Programs } from './program.ts';

const help = '--help --version';

/** Of the shell and of what computes and prints. */
const printing: Programs = {
  echo: { operands: 'text*', anyOption: true },
  printf: { operands: 'text*', options: help, optionsFirst: true },
  ...each('true false', { operands: 'text*', anyOption: true }),
  // `-v` looks at the index of an array, and runs what stands in it.
  ...each('test [', { options: '-v!code/unseen -R!code/unseen', operands: 'text*', words: true, anyOption: true }),
  ...each('pwd tty', { operands: 'text*', anyOption: true }),
  ...each('logname whoami arch nproc uname', { operands: 'text*', anyOption: true, prints: 'name' }),
  // Names that hold no secret; alone it prints the whole environment.
  printenv: {
    options: `${help} -0 --null`,
    subcommands: {
      'PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_ALL|TERM|TZ|PWD|OLDPWD|EDITOR|PAGER|HOSTNAME|TMPDIR|DISPLAY|NODE_ENV|CI|PORT|HOST|GOPATH|GOROOT|JAVA_HOME|VIRTUAL_ENV|PYTHONPATH|NODE_PATH|XDG_RUNTIME_DIR':
        {},
    },
    asksWithout: ['--help --version', 'credentials/environment'],
  },
  ...each('expr factor', { operands: 'text*', anyOption: true }),
  yes: { operands: 'text*', anyOption: true },
  ...each('sleep gsleep usleep', { operands: 'text+', anyOption: true }),
  bc: { options: `${help} -hilqsvwg -e:text --expression:text -S:text --mathlib --quiet --standard --warn`, operands: 'read*' },
  ...each('date gdate', {
    options: `${help} -uRjn -d:text --date:text -f:read -r:list --reference:list -I:text? --iso-8601:text? -v:text --rfc-3339:text
      --rfc-email --utc --universal --debug --resolution`,
    operands: 'format?',
    operandsWith: { '-f': 'text*' },
    prints: 'name',
  }),
  ...each('cal ncal', { options: `${help} -13jmsywhCJeoN -d:text -m:text -H:text -A:text -B:text -n:text -#`, operands: 'text*' }),
  ...each('clear reset', { options: '-xV -T:text', operands: 'text?' }),
  tput: { options: '-S -V -T:text', operands: 'text+' },
  stty: { options: '-F:list --file:list', operands: 'text*', anyOption: true },
  ...each('getopt', { options: '-auqT -o:text --options:text -l:text --longoptions:text -n:text --name:text -s:text', operands: 'text*' }),
  ...each('uuidgen mcookie pwgen', { options: `${help} -rtnx -n:text -N:text -C -s -y -B -1 -0 -A`, operands: 'text*' }),
  ...each('say notify-send', { options: '-u:text -t:text -i:text -v:text -r:text --urgency:text --expire-time:text', operands: 'text*' }),
  logger: { options: '-is -t:text -p:text --tag:text --priority:text', operands: 'text*' },
};

const psOptions = `${help} -AaCdefFgGHjlLMmNOpPqTtuUvVwxyZc -C:text -G:text -g:text -O:text -o:text -p:text -P:text -q:text -s:text
  -t:text -u:text -U:text --format:text --forest --sort:text --no-headers --no-heading --headers --pid:text --ppid:text --quick-pid:text
  --user:text --User:text --tty:text --cols:text --columns:text --width:text --rows:text --cumulative --deselect -r`;
const signals = '0 2 3 6 9 10 12 15 18 19 20 HUP INT QUIT ABRT KILL USR1 USR2 TERM CONT STOP TSTP WINCH'
  .split(' ')
  .flatMap((name) => [`-${name}:pid`, `-SIG${name}:pid`])
  .join(' ');

/** Processes: looking at them, and ending them. */
const processes: Programs = {
  // A letter `e` of BSD prints the environment of every process.
  ps: {
    options: psOptions,
    subcommands: {
      'aux|auxw|auxww|auxwww|auxf|auxfw|auxfww|axu|ax|axw|axww|axf|axjf|ajxf|axjfww|faux|fax|a|x|u|w|ux|xu|f|l|j|auxm|auxr|auxh|axl|axms|auwx|auwwx|xww|xuww':
        {
          options: psOptions,
        },
      'axo|ao|o|xo|axwo|axwwo|auxo': { options: psOptions, operands: 'text' },
      'p|u|q': { options: psOptions, operands: 'text' },
    },
  },
  top: {
    options: `${help} -1bBcehHiSsvXw -n:text -d:text -p:text -u:text -U:text -o:text -w:text? -l:text -E:text -stats:text -pid:text -F -R
      -O:text`,
  },
  ...each('htop btop atop bashtop bottom btm procs', {
    options: `${help} -h -V -C -M -t -d:text -u:text -p:text -s:text --tree --no-color`,
  }),
  pgrep: {
    options: '-u:text -U:text -G:text -g:text -P:text -s:text -t:text -d:text -F:read -r:text --ns:text',
    operands: 'text*',
    anyOption: true,
  },
  pidof: { options: '-sqxcn -o:text', operands: 'text+', prints: 'name' },
  pstree: { options: `${help} -aAcghGlnNpsStTuUVZ -H:text -C:text`, operands: 'text?' },
  pwdx: { operands: 'text+' },
  ...each('lsof', {
    options: `${help} -abCGhHlnNOPRtUvVwWX -i:text? -p:text -u:text -c:text -d:text -g:text? -s:text? -F:text? -r:text? -S:text? -T:text?
      -o:text? +D:list +d:list +c:text -K:text? -f:text? -Q -q`,
    operands: 'list*',
  }),
  fuser: { options: `${help} -acilmsuvV4646 -n:text -k!process/kill-by-name --kill!process/kill-by-name`, operands: 'list*' },
  // Each signal takes what follows as a process, so that `-1` there is one.
  kill: { options: `${signals} -l:text? -L -s:text --signal:text --list:text? --table --help --version`, operands: 'pid*' },
  ...each('pkill killall skill snice', {
    options: `${help} -aefgiIlnoqrvVwxzZ -0 -1 -2 -9 -15 -u:text -U:text -G:text -P:text -t:text -s:text -F:read --signal:text --user:text`,
    operands: 'text*',
    anyOption: true,
    operandsWith: { '--help': '', '--version': '' },
    asksWithout: ['--help --version', 'process/kill-by-name'],
  }),
  killall5: { operands: 'text*', anyOption: true, asks: 'system/kill-all' },
  ...each('renice', { operands: 'text*', anyOption: true, asks: 'process/kill-by-name' }),
};

/** The machine and what it consists of. */
const machine: Programs = {
  ...each('uptime free vmstat mpstat iostat lscpu lsmem lsns lsipc lslocks w who users last id groups', {
    options: '-n:text -d:text -s:text -c:text -P:text -p:text -o:text',
    operands: 'text*',
    anyOption: true,
  }),
  ...each('lsblk findmnt', {
    options: '-o:text -t:text -T:list -S:text -O:text -x:text -e:text -I:text -M:text',
    operands: 'list*',
    anyOption: true,
  }),
  blkid: { options: `${help} -klpi -o:text -s:text -L:text -U:text -t:text -n:text -c:list`, operands: 'list*' },
  ...each('lsusb lspci lshw lsmod modinfo dmidecode acpi upower inxi neofetch fastfetch screenfetch sw_vers system_profiler', {
    options: `${help} -tvnkmxaqbXDFlLjsedu0p -c:text -C:text -class:text -short -json -html -xml -quiet -s:text -d:text -i:text -t:text
      -F:text --field:text -productVersion -productName -buildVersion`,
    operands: 'text*',
  }),
  sensors: { options: '-uAfjhv', operands: 'text*' },
  'nvidia-smi': {
    options: `--help -h -L -q -B -l:text -i:text -d:text -x --list-gpus --query --query-gpu:text --query-compute-apps:text --format:text
      --id:text --display:text --loop:text --version`,
    words: true,
    subcommands: { 'dmon|pmon|topo|nvlink': { options: '-s:text -c:text -d:text -i:text -m', words: true } },
  },
  ...each('lastlog finger lastb', { options: `${help} -s -l -m -p`, operands: '' }),
  sar: { options: `${help} -AbBdHhqrSuvWwyFt -n:text -P:text -I:text -m:text -s:text -e:text -i:text -f:read`, operands: 'text*' },
  ...each('hostname', {
    options: `${help} -aAdfiIsyV --all-fqdns --all-ip-addresses --fqdn --long --short --ip-address --domain --alias`,
    prints: 'name',
  }),
  ...each('domainname dnsdomainname hostid', { options: '-v --help --version' }),
  getconf: { options: '-a -v:text', operands: 'text*' },
  locale: { options: `${help} -akmcv`, operands: 'text*' },
  getent: {
    options: '-i -s:text',
    subcommands: {
      'hosts|ahosts|ahostsv4|ahostsv6': { operands: 'text*', subcommands: { localhost: {} }, asksWithout: ['', 'network/remote'] },
      'passwd|group|services|protocols|networks|netgroup|rpc|ethers|aliases|initgroups': {
        operands: 'text*',
      },
      'shadow|gshadow': { operands: 'text*', asks: 'credentials/read' },
    },
  },
  // Alone they show, with a value they set.
  sysctl: {
    options: `-aAXNeqbn --all --values --names --pattern:text -r:text -w!system/settings --write!system/settings -p!system/settings
      --system!system/settings --load!system/settings`,
  },
  ...each('timedatectl hostnamectl localectl', {
    options: '--no-pager -p:text --property:text --value -a --all --static --transient --pretty --json:text',
    subcommands: {
      'status|show|timesync-status|show-timesync|list-timezones|list-locales|list-keymaps': {
        options: '--no-pager -p:text --property:text --value -a --all',
      },
      'set-time|set-timezone|set-ntp|set-local-rtc|set-hostname|hostname|set-locale|set-keymap|set-icon-name|set-chassis': {
        operands: 'text*',
        asks: 'system/settings',
      },
    },
  }),
  dmesg: {
    options: `${help} -dehHkLPrStTuwWx -f:text --facility:text -l:text --level:text --since:text --until:text --time-format:text
      --color:text? --ctime --follow --human --kernel --decode --nopager --reltime --json -c!system/erase-traces -C!system/erase-traces
      --clear!system/erase-traces --read-clear!system/erase-traces`,
  },
  journalctl: {
    options: `${help} -aefklmqrxNW -u:text --unit:text --user-unit:text -n:text? --lines:text? -b:text? --boot:text? -p:text
      --priority:text -o:text --output:text -S:text --since:text -U:text --until:text -t:text --identifier:text -g:text --grep:text
      -F:text --field:text -D:read --directory:read --file:read -c:text --cursor:text --after-cursor:text --output-fields:text --no-pager
      --no-tail --no-full --full --all --follow --reverse --utc --catalog --quiet --dmesg --user --system --list-boots --disk-usage
      --fields --no-hostname --pager-end --merge --case-sensitive:text? --vacuum-size:text!system/erase-traces
      --vacuum-time:text!system/erase-traces --vacuum-files:text!system/erase-traces --rotate!system/erase-traces --flush!system/settings
      --sync`,
    operands: 'text*',
  },
};

/** Programs that are compiled: looking into them. */
const binaries: Programs = {
  // It may run the program it is asked about.
  ldd: { options: '-vudr --help --version', operands: 'script' },
  ...each('nm size readelf objdump otool addr2line llvm-nm llvm-objdump llvm-readelf', {
    options: `${help} -aAbBcCdDeEfFgGhHiIjlLnNopPrRsStTuvVwWxXz -j:text --section:text -M:text -e:read --exe:read -p:text? -x:text?
      --demangle:text? --dynamic --defined-only --undefined-only --extern-only --numeric-sort --size-sort --print-size --format:text
      --radix:text --all --file-header --file-headers --program-headers --segments --sections --section-headers --symbols --syms
      --dyn-syms --relocs --notes --version-info --wide --disassemble:text? --disassemble-all --source --line-numbers --full-contents
      --all-headers --archive-headers --private-headers --reloc --dynamic-syms --dynamic-reloc --no-show-raw-insn --start-address:text
      --stop-address:text --string-dump:text --hex-dump:text --functions --inlines --pretty-print --basenames --debug-dump:text?
      --dwarf:text?`,
    operands: 'read*',
  }),
  'c++filt': { options: '-_nprtis --help --version', operands: 'text*' },
  strip: {
    options: `${help} -sgSdxXpv --strip-all --strip-debug --strip-unneeded --preserve-dates --verbose -o:write -R:text
      --remove-section:text -K:text -N:text`,
    operands: 'write+',
  },
  patchelf: { options: '--print-rpath --print-needed --print-interpreter --print-soname --version --help', operands: 'read+' },
};

/** Asked about, except for its help. */
const row = (asks: NonNullable<Program['asks']>): Program => ({
  options: help,
  operands: 'text*',
  operandsWith: { '--help': '', '--version': '' },
  asksWithout: ['--help --version', asks],
});

/** What changes the machine: its disks, services, accounts, settings. */
const administration: Programs = {
  ...each(
    'mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.exfat mkfs.f2fs mke2fs mkdosfs mkntfs mkswap',
    row('disk/format'),
  ),
  ...each('blkdiscard newfs newfs_apfs newfs_hfs newfs_msdos', row('disk/format')),
  wipefs: {
    options: `${help} -nJpi -o:text!disk/format --offset:text!disk/format -O:text -t:text -a!disk/format --all!disk/format -f -q -b
      --no-act --backup`,
    operands: 'list*',
  },
  hdparm: {
    options: '-iIgtTv -C --security-erase:text!disk/format --security-erase-enhanced:text!disk/format --user-master:text',
    operands: 'list*',
    asksWithout: ['-i -I -g -t -T -v -C', 'disk/change'],
  },
  dd: { operands: 'dd*' },
  ...each(
    'umount swapon swapoff losetup lvremove lvcreate lvextend lvresize lvreduce vgremove vgcreate vgextend vgreduce pvremove pvcreate',
    row('disk/change'),
  ),
  ...each(
    'cfdisk sfdisk sgdisk gdisk tune2fs resize2fs e2fsck fsck fsck.ext4 xfs_growfs xfs_repair mdadm cryptsetup dmsetup badblocks',
    row('disk/change'),
  ),
  ...each('partprobe kpartx fstrim btrfs zfs zpool mkisofs wodim growisofs debugfs e2label diskpart fusermount sshfs', row('disk/change')),
  diskutil: {
    subcommands: {
      'list|info|activity|listFilesystems': { operands: 'text*' },
      'eraseDisk|eraseVolume|reformat|partitionDisk|zeroDisk|randomDisk|secureErase|apfs': { operands: 'text*', asks: 'disk/format' },
      'mount|unmount|mountDisk|unmountDisk|eject|rename|repairVolume|repairDisk|resizeVolume': { operands: 'text*', asks: 'disk/change' },
    },
  },
  fdisk: {
    options: `${help} -l -x -o:text --list --list-details`,
    operands: 'list*',
    asksWithout: ['-l -x --list --list-details --help --version', 'disk/change'],
  },
  parted: {
    options: `${help} -lsm --list --script --machine`,
    operands: 'text*',
    asksWithout: ['-l --list --help --version', 'disk/change'],
    operandsWith: { '-l': '', '--list': '' },
  },
  mount: {
    options: `${help} -lhVv -t:text --types:text -o:text!disk/change --options:text!disk/change --bind!disk/change --rbind!disk/change
      -a!disk/change --all!disk/change -B!disk/change -R!disk/change -M!disk/change --move!disk/change -r!disk/change -w!disk/change
      -L:text!disk/change -U:text!disk/change`,
  },
  ...each('shutdown reboot halt poweroff telinit pm-suspend pm-hibernate kexec', row('system/shutdown')),
  init: {
    subcommands: { '0|1|6|s|S': { asks: 'system/shutdown' } },
    options: help,
  },
  ...each(
    'modprobe insmod rmmod depmod setenforce hwclock update-grub grub-install update-initramfs loadkeys kmod',
    row('system/settings'),
  ),
  ...each(
    'update-alternatives ldconfig locale-gen dpkg-reconfigure debconf-set-selections swapctl nvram csrutil spctl tmutil defaults scutil',
    row('system/settings'),
  ),
  ...each(
    'useradd adduser userdel deluser usermod groupadd addgroup groupdel delgroup groupmod gpasswd chpasswd newusers chage chfn chsh vipw vigr dscl',
    row('accounts/change'),
  ),
  passwd: { options: `${help} -S --status -a`, operands: 'text*', asksWithout: ['-S --status --help --version', 'accounts/change'] },
  visudo: { options: `${help} -cqsV --check --quiet -f:read`, asksWithout: ['-c --check --help --version -V', 'accounts/change'] },
  crontab: {
    options: `${help} -l -u:text -V -r!persistence/schedule -e!persistence/schedule -i!persistence/schedule`,
    operands: 'text?',
    operandsWith: { '-l': '' },
    asksWithout: ['-l --help --version -V', 'persistence/schedule'],
  },
  atq: { options: '-V -q:text -o:text' },
  ...each('at batch atrm atd anacron incrontab fcrontab', row('persistence/schedule')),
  service: { options: `${help} --status-all`, operands: 'text*', asksWithout: ['--status-all --help --version', 'services/change'] },
  ...each(
    'rc-service rc-update update-rc.d chkconfig invoke-rc.d supervisorctl monit sv runsv start-stop-daemon daemonize',
    row('services/change'),
  ),
  launchctl: {
    subcommands: {
      'list|print|blame|dumpstate|version|help|print-disabled': { operands: 'text*' },
      'load|enable|bootstrap|submit|kickstart': { operands: 'text*', anyOption: true, asks: 'persistence/startup' },
      'unload|disable|bootout|start|stop|remove|kill|setenv': { operands: 'text*', anyOption: true, asks: 'services/change' },
    },
  },
  loginctl: {
    options: '--no-pager --no-legend',
    subcommands: {
      'list-sessions|list-users|list-seats|show-session|show-user|show-seat|session-status|user-status|seat-status': {
        options: '--no-pager --no-legend -p:text --property:text --value -a --all -n:text',
        operands: 'text*',
      },
    },
  },
  'dbus-send': row('services/change'),
  ...each('gdbus busctl', row('services/change')),
};

const unitOptions = `${help} -ahlqrift --user --system --global --no-pager --all --full --quiet --failed --type:text -t:text --state:text
  -p:text --property:text -P:text --value -n:text --lines:text -o:text --output:text --plain --no-legend --legend:text --reverse
  --recursive --show-types --with-dependencies --now --force --no-block --no-reload --runtime --no-ask-password --no-wall --before --after
  --timestamp:text -s:text --signal:text --kill-whom:text`;
const stops =
  'reboot.target|poweroff.target|halt.target|kexec.target|rescue.target|emergency.target|shutdown.target|suspend.target|hibernate.target';
const services: Programs = {
  systemctl: {
    options: unitOptions,
    subcommands: {
      'status|is-active|is-enabled|is-failed|list-units|list-unit-files|list-timers|list-sockets|list-dependencies|list-jobs|list-machines|list-paths|list-automounts|cat|show|help|get-default|is-system-running':
        { options: unitOptions, operands: 'text*' },
      'show-environment': { options: unitOptions, asks: 'credentials/environment' },
      'poweroff|reboot|halt|kexec|suspend|hibernate|hybrid-sleep|suspend-then-hibernate|sleep|soft-reboot|rescue|emergency|default|exit|switch-root':
        {
          options: unitOptions,
          operands: 'text*',
          asks: 'system/shutdown',
        },
      'enable|reenable|preset|link|add-wants|add-requires|edit|import-environment|set-environment': {
        options: unitOptions,
        operands: 'text*',
        asks: 'persistence/startup',
      },
      'start|isolate': {
        options: unitOptions,
        operands: 'text*',
        asks: 'services/change',
        subcommands: { [stops]: { operands: 'text*', asks: 'system/shutdown' } },
      },
      'stop|restart|reload|try-restart|reload-or-restart|try-reload-or-restart|kill|clean|freeze|thaw|disable|mask|unmask|revert|set-property|set-default|reset-failed|daemon-reload|daemon-reexec|cancel|unset-environment|bind':
        { options: unitOptions, operands: 'text*', asks: 'services/change' },
    },
  },
};

export const systemPrograms: Programs = { ...printing, ...processes, ...machine, ...binaries, ...administration, ...services };
