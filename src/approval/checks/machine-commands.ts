import type { CommandRule } from './command-rule.ts';

/** Disks, services and settings of the machine. */
export const machineCommands: readonly CommandRule[] = [
  {
    rule: 'disk/format',
    program: /^(?:mkfs(?:\..+)?|mke2fs|mkswap|newfs(?:_.+)?|mkdosfs|mkntfs|mkexfatfs|wipefs|blkdiscard|mkudffs)$/,
    any: /^\/dev\/|[\uE000-\uE002]|^[a-z]+\d*s\d+$/,
    unless: /^\/dev\/\S+$|(?:^| )(?:-n|--no-act|-V|--version)(?: |$)/,
  },
  { rule: 'disk/format', program: /^(?:mkfs(?:\..+)?|mke2fs|mkswap|newfs(?:_.+)?|mkdosfs|mkntfs|mkexfatfs|blkdiscard)$/, any: /^\/dev\// },
  { rule: 'disk/change', program: /^(?:mkfs(?:\..+)?|mke2fs|mkswap|mkdosfs|mkntfs|mkexfatfs|wipefs)$/, any: /^(?!-|\/dev\/)./ },
  { rule: 'disk/format', program: /^diskutil$/, words: /^(?:erase\w*|partitionDisk|zeroDisk|randomDisk|secureErase|reformat|apfs)$/i },
  { rule: 'disk/format', program: /^nvme$/, words: /^(?:format|sanitize|write-zeroes)$/ },
  { rule: 'disk/format', program: /^hdparm$/, any: /^--(?:security-erase|trim-sector|make-bad-sector|write-sector|dco-restore)/ },
  {
    rule: 'disk/change',
    program: /^(?:fdisk|sfdisk|cfdisk|gdisk|sgdisk|parted|partprobe|partx|growpart)$/,
    unless: /(?:^| )(?:-l|--list|-lu|print|-p|--print|-V|--version)(?: |$)/,
  },
  {
    rule: 'disk/change',
    program:
      /^(?:lv|vg|pv)(?:remove|reduce|create|resize|extend|change|convert|move|rename|merge|split)$|^(?:mdadm|cryptsetup|losetup|swapoff|swapon|mount|umount|resize2fs|xfs_growfs|xfs_repair|tune2fs|debugfs|e2label|fsck(?:\..+)?|e2fsck|fstrim|badblocks|testdisk|ddrescue|dmsetup|btrfs|zpool|zfs|fusermount|dislocker|vgchange|qemu-nbd)$/,
    any: /./,
    unless:
      /^(?:-[laVh]+|--help|--version|--list|list|status|get .*|list .*|subvolume list .*|filesystem (?:df|show|usage).*|luksDump .*|--detail .*|-t \S+|info .*|table|ls)$/,
  },
  {
    rule: 'system/shutdown',
    program: /^(?:shutdown|reboot|halt|poweroff|pm-suspend|pm-hibernate|pm-suspend-hybrid)$/,
    unless: /(?:^| )(?:-c|--help|--version|--show|-w|--wtmp-only)(?: |$)/,
  },
  { rule: 'system/shutdown', program: /^(?:init|telinit)$/, words: /^(?:0|6|1|s|S|\uE000|\uE001)$/ },
  {
    rule: 'system/shutdown',
    program: /^systemctl$/,
    words:
      /^(?:poweroff|reboot|halt|kexec|suspend|hibernate|hybrid-sleep|suspend-then-hibernate|soft-reboot|emergency|rescue|exit|default)$/,
    within: 2,
  },
  { rule: 'system/shutdown', program: /^loginctl$/, words: /^(?:poweroff|reboot|halt|suspend|hibernate)$/ },
  {
    rule: 'system/shutdown',
    program: /^systemctl$/,
    words: /^(?:start|isolate)$/,
    any: /^(?:poweroff|reboot|halt|shutdown|rescue|emergency|kexec|runlevel[06])\.target$/,
  },
  { rule: 'system/shutdown', program: /^kexec$/, any: /^(?:-e|--exec|-f|--force)$/ },
  { rule: 'system/shutdown', program: /^(?:busctl|dbus-send|gdbus|qdbus)$/, text: /\b(?:PowerOff|Reboot|Halt|Suspend|Hibernate|KExec)\b/ },
  {
    rule: 'services/change',
    program: /^systemctl$/,
    words:
      /^(?:stop|start|restart|reload|try-restart|reload-or-restart|disable|mask|unmask|kill|isolate|set-property|set-default|edit|revert|link|daemon-reload|daemon-reexec|preset\w*|reset-failed|set-environment|unset-environment|freeze|thaw|clean|bind)$/,
    within: 2,
  },
  {
    rule: 'persistence/startup',
    program: /^systemctl$/,
    words: /^(?:enable|reenable|link|add-wants|add-requires|preset\w*|edit)$/,
    within: 2,
  },
  {
    rule: 'services/change',
    program: /^(?:service|rc-service|invoke-rc\.d|sv|supervisorctl|initctl|svcadm|s6-svc|monit|s6-rc)$/,
    any: /^(?:stop|start|restart|reload|force-reload|force-stop|down|up|once|exit|kill|shutdown|disable|enable|remove|clear|unmonitor|-[dukxo])$/,
  },
  {
    rule: 'services/change',
    program: /^(?:nginx|apachectl|apache2ctl|httpd)$/,
    text: /(?:^| )-s (?:stop|quit|reload)|(?:^| )-k \w+|^(?:stop|restart|graceful)/,
  },
  { rule: 'services/change', program: /^pm2$/, words: /^(?:stop|delete|del|kill|restart|reload|flush)$/ },
  { rule: 'services/change', program: /^launchctl$/, words: /^(?:unload|bootout|remove|stop|kill|disable|kickstart|reboot)$/ },
  { rule: 'persistence/startup', program: /^launchctl$/, words: /^(?:load|bootstrap|enable|submit)$/ },
  {
    rule: 'persistence/startup',
    program: /^(?:update-rc\.d|chkconfig|rc-update|insserv|systemd-run)$/,
    any: /./,
    unless: /^--list|^show|^-v$/,
  },
  { rule: 'persistence/startup', program: /^pm2$/, words: /^(?:startup|save)$/ },
  { rule: 'persistence/startup', program: /^loginctl$/, words: /^enable-linger$/ },
  { rule: 'persistence/schedule', program: /^crontab$/, unless: /^(?:-u \S+ )?-l$/ },
  { rule: 'persistence/schedule', program: /^(?:atrm|fcrontab|incrontab|at|batch)$/, unless: /^-l$/ },
  { rule: 'system/settings', program: /^sysctl$/, any: /^(?:-w|--write|-p|--load|--system)|^[\w./-]+=/ },
  {
    rule: 'system/settings',
    program:
      /^(?:insmod|rmmod|modprobe|depmod|kmod|setenforce|aa-teardown|aa-complain|aa-disable|update-grub\d?|grub-install|grub2?-mkconfig|efibootmgr|update-initramfs|dracut|mkinitcpio|dpkg-reconfigure|nvram|csrutil|pmset|systemsetup|scutil|spctl|hwclock|ntpdate|chronyc|swapoff|authconfig|pam-auth-update|bootctl|grubby|setsebool|semanage|auditctl|tmutil|kextload|kextunload|alsactl|flashrom|fwupdmgr|tpm2_clear)$/,
    any: /./,
    unless: /^(?:-n|--dry-run|--show\S*|status|get|list|-l|-v|--version|--print|tracking|sources|get-devices|verify)(?: |$)/,
  },
  { rule: 'system/settings', program: /^(?:timedatectl|hostnamectl|localectl)$/, words: /^set-/ },
  { rule: 'system/settings', program: /^hostname$/, any: /^[^-]/ },
  { rule: 'system/settings', program: /^date$/, any: /^(?:-s|--set)/ },
  { rule: 'system/settings', program: /^update-alternatives$/, any: /^--(?:set|install|remove|config|auto)/ },
  { rule: 'system/settings', program: /^ulimit$/, text: /-[a-zA-Z]*c? ?unlimited$/, unless: /./ },
  { rule: 'system/erase-traces', program: /^history$/, any: /^-\w*[cwd]/ },
  { rule: 'system/erase-traces', program: /^journalctl$/, any: /^--(?:vacuum|rotate|flush|relinquish)/ },
  { rule: 'system/erase-traces', program: /^dmesg$/, any: /^(?:-[cC]|--clear|--read-clear)$/ },
  { rule: 'system/erase-traces', program: /^(?:logrotate)$/, any: /^(?:-f|--force)$/ },
  { rule: 'system/erase-traces', program: /^auditctl$/, any: /^-[De]/ },
  { rule: 'code/injected', program: /^(?:npm|pnpm|yarn)$/, text: /^(?:config )?set .*script-shell/ },
  { rule: 'code/injected', program: /^enable$/, any: /^-\w*f/ },
  { rule: 'code/injected', program: /^hash$/, any: /^-\w*p/ },
  { rule: 'code/injected', program: /^bind$/, any: /^-\w*x/ },
  { rule: 'code/injected', program: /^complete$/, any: /^-\w*C/ },
  { rule: 'code/injected', program: /^env$/, any: /^BASH_FUNC_/ },
  { rule: 'code/unseen', program: /^(?:mapfile|readarray)$/, any: /^-\w*C/ },
  { rule: 'code/unseen', program: /^compgen$/, any: /\$\(|`/ },
  {
    rule: 'code/unseen',
    program: /^(?:let|test|\[|printf|read|unset|declare|typeset|local|export|readonly|wait|mapfile|readarray)$/,
    any: /\[[^[]*(?:\$\(|`)/,
  },
];
