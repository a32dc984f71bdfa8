import type { RuleId } from './rules.ts';

/** A rule about a program and the words it is given. All that is named must hold. */
export interface CommandRule {
  rule: RuleId;
  program: RegExp;
  /** One of the first words that are no options. */
  words?: RegExp;
  /** How many of them count. */
  within?: number;
  /** One of the arguments. */
  any?: RegExp;
  /** The arguments, joined by blanks. */
  text?: RegExp;
  /** Not when the joined arguments match this. */
  unless?: RegExp;
}

const dryRun = /--dry-run(?!=(?:none|false))|--simulate|--just-print|--what-if/;
const destroying =
  /^(?:delete|destroy|remove|rm|rb|purge|terminate|drop|erase|wipe|undeploy|uninstall|deprovision|decommission|stop|shutdown|reboot|reset|restart|disable|kill|deregister|cancel|scale|drain|evict|rollback|downsize|suspend|unset|del|prune|teardown|nuke|flush|truncate|force-delete|bulk-delete|batch-delete)(?:[-:].*)?$/;

/** Rules that words alone decide. Rules about paths and code are next to what they look at. */
export const commandRules: readonly CommandRule[] = [
  // Disks and file systems
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
      /^(?:-[laVh]+|--help|--version|--list|list|status|-l .*|get .*|list .*|subvolume list .*|filesystem (?:df|show|usage).*|luksDump .*|--detail .*|-t \S+|info .*|table|ls)$/,
  },
  // Services and the machine
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
  { rule: 'persistence/schedule', program: /^crontab$/, any: /./, unless: /^(?:-u \S+ )?-l$/ },
  { rule: 'persistence/schedule', program: /^(?:atrm|fcrontab|incrontab|at|batch)$/, unless: /^-l$/ },
  { rule: 'system/settings', program: /^sysctl$/, any: /^(?:-w|--write|-p|--load|--system)|^[\w./-]+=/ },
  {
    rule: 'system/settings',
    program:
      /^(?:insmod|rmmod|modprobe|depmod|kmod|setenforce|aa-teardown|aa-complain|aa-disable|update-grub\d?|grub-install|grub2?-mkconfig|efibootmgr|update-initramfs|dracut|mkinitcpio|dpkg-reconfigure|nvram|csrutil|pmset|systemsetup|scutil|spctl|hwclock|ntpdate|chronyc|swapoff|authconfig|pam-auth-update|bootctl|grubby|setsebool|semanage|auditctl|tmutil|kextload|kextunload|alsactl|flashrom|fwupdmgr|tpm2_clear)$/,
    any: /./,
    unless: /^(?:-n|--dry-run|--show\S*|status|get|list|-l|-v|--version|-r|--print|tracking|sources|get-devices|verify)(?: |$)/,
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
  // Accounts
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
  // Packages
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
  // Infrastructure
  {
    rule: 'infrastructure/change',
    program: /^(?:kubectl|oc|k)$/,
    words: /^(?:delete|drain|cordon|taint|scale|autoscale|patch|replace|edit|evict|set|prune|adm)$/,
    within: 4,
    unless: dryRun,
  },
  {
    rule: 'infrastructure/change',
    program: /^(?:kubectl|oc|k)$/,
    text: /\brollout (?:undo|restart|pause)\b|\bapply\b.*--(?:prune|force)\b|\breplace\b.*--force/,
    unless: dryRun,
  },
  {
    rule: 'infrastructure/access',
    program: /^(?:kubectl|oc|k)$/,
    text: /\bcreate (?:clusterrole|role|clusterrolebinding|rolebinding|serviceaccount|token|secret)\b|\bcertificate (?:approve|deny)\b|\bconfig (?:set|use|delete|unset)/,
    unless: dryRun,
  },
  {
    rule: 'network/expose',
    program: /^(?:kubectl|oc|k)$/,
    text: /\b(?:port-forward|proxy|expose)\b.*(?:--address[= ]?(?:0\.0\.0\.0|::)|--type[= ]?(?:LoadBalancer|NodePort))/,
  },
  {
    rule: 'infrastructure/change',
    program: /^(?:helm|helmfile)$/,
    words: /^(?:uninstall|delete|del|rollback|destroy|sync|apply)$/,
    within: 2,
    unless: dryRun,
  },
  {
    rule: 'infrastructure/change',
    program: /^(?:terraform|tofu|terragrunt|cdktf)$/,
    words: /^(?:destroy|apply|import|taint|untaint|force-unlock|run-all)$/,
    within: 3,
    unless: /-help/,
  },
  {
    rule: 'infrastructure/change',
    program: /^(?:terraform|tofu|terragrunt)$/,
    text: /\b(?:state (?:rm|mv|push|replace-provider)|workspace delete)\b/,
  },
  {
    rule: 'infrastructure/change',
    program: /^pulumi$/,
    text: /^(?:destroy|up|update|cancel|stack rm|state delete|refresh)/,
    unless: /--preview-only|--help/,
  },
  {
    rule: 'infrastructure/change',
    program: /^(?:aws|awslocal)$/,
    text: /(?:^| )(?:delete|terminate|remove|deregister|purge|destroy|stop|reboot|reset|detach|disassociate|release|disable|cancel|batch-delete|update|modify|run-instances|restore)(?:-[a-z-]+)?(?: |$)|(?:^| )s3 (?:rm|rb|mv)(?: |$)|(?:^| )s3 sync .*--delete|(?:^| )cloudformation deploy/,
    unless: /--dry-?run\b|(?:^| )help$|^configure|--generate-cli-skeleton/,
  },
  {
    rule: 'infrastructure/access',
    program: /^(?:aws|awslocal)$/,
    text: /(?:^| )iam (?:create|put|attach|update|add|upload)-|authorize-security-group|put-bucket-(?:acl|policy)|put-object-acl|--acl public|put-public-access-block|create-access-key|add-permission|put-key-policy|create-grant|put-role-policy|modify-image-attribute|modify-snapshot-attribute/,
  },
  {
    rule: 'credentials/store',
    program: /^(?:aws|awslocal)$/,
    text: /secretsmanager get-secret-value|ssm get-parameters?\b.*--with-decryption|ecr get-login|sts (?:assume-role|get-session-token|get-federation-token)|configure (?:get|export-credentials)|kms decrypt|rds generate-db-auth-token|ec2 get-password-data/,
  },
  {
    rule: 'infrastructure/change',
    program:
      /^(?:gcloud|gsutil|bq|az|doctl|hcloud|linode-cli|vultr-cli|vultr|flyctl|fly|heroku|vercel|netlify|railway|wrangler|eksctl|kops|scw|oci|ibmcloud|openstack|civo|upctl|exo|yc|aliyun|render|dokku|cf|nomad|consul|etcdctl|argocd|flux|istioctl|linkerd|velero|rancher|rke|cdk|sam|sls|serverless|eb|copilot|amplify|firebase|supabase|neonctl|planetscale|pscale|turso|atlas|mongocli|ccloud|confluent|kafka-topics(?:\.sh)?|rabbitmqctl|minikube|kind|k3d|multipass|vagrant|virsh|VBoxManage|vboxmanage|prlctl|lxc|incus|qm|pct|proxmox|govc|esxcli|xe|mc|s3cmd|s5cmd|rclone|b2|cloudflared|apcctl|ceph|gluster|influx|vault|boundary|waypoint|packer|juju|maas|crictl|ctr|talosctl|kubeadm|cilium|spin|modal|daytona|runpodctl|coder|gitlab-runner|act_runner|buildkite-agent|circleci|jenkins-cli)$/,
    words: destroying,
    within: 6,
    unless: dryRun,
  },
  {
    rule: 'infrastructure/change',
    program: /^(?:gsutil|rclone|mc|s3cmd|s5cmd)$/,
    text: /(?:^| )(?:rsync .*-\w*d\b|(?:sync|purge|delete|deletefile|rmdirs|cleanup|mirror --remove|move|mirror .*--remove)(?: |$))/,
    unless: dryRun,
  },
  {
    rule: 'infrastructure/change',
    program: /^(?:kafka-topics(?:\.sh)?|kafka-consumer-groups(?:\.sh)?|zookeeper-shell|kafka-delete-records(?:\.sh)?)$/,
    any: /^--(?:delete|reset-offsets|alter)|^deleteall|^rmr$/,
  },
  {
    rule: 'infrastructure/change',
    program: /^(?:ansible|ansible-playbook|salt|puppet|chef-client|knife|fab|cap|pyinfra|mco|pdsh|pssh|clush|dsh)$/,
    any: /./,
    unless: /--(?:check|syntax-check|list-hosts|list-tasks|version|help|noop|why-run)|^-h$|-m (?:ping|setup|debug)(?: |$)/,
  },
  {
    rule: 'infrastructure/change',
    program:
      /^(?:vercel|netlify|flyctl|fly|wrangler|firebase|gcloud|eb|cdk|sam|sls|serverless|railway|render|cf|copilot|amplify|surge|now)$/,
    words: /^(?:deploy|publish)$/,
    within: 3,
    text: /(?:--prod\b|--yes|--force|deploy|publish)/,
    unless: /--dry-run|--no-execute-changeset|deployments? (?:list|describe)/,
  },
  {
    rule: 'infrastructure/access',
    program: /^(?:gcloud|az|oci)$/,
    text: /(?:add|set|remove)-iam-policy(?:-binding)?|role assignment (?:create|delete)|service-accounts keys create|firewall-rules (?:create|update|delete)|nsg rule (?:create|delete|update)|ad sp create|keyvault set-policy/,
  },
  {
    rule: 'credentials/store',
    program: /^(?:gcloud|az)$/,
    text: /auth (?:application-default )?print-(?:access|identity)-token|secrets versions access|keyvault secret (?:show|download)|account get-access-token|storage account keys list|acr credential/,
  },
  {
    rule: 'infrastructure/change',
    program: /^(?:virsh)$/,
    words: /^(?:undefine|destroy|shutdown|reboot|vol-delete|pool-delete|snapshot-delete|net-destroy|net-undefine|managedsave)$/,
  },
  // Containers
  {
    rule: 'containers/stop',
    program: /^(?:docker|podman|nerdctl|docker-compose|podman-compose|crictl|buildah)$/,
    words: /^(?:stop|kill|restart|rm|rmi|prune|down|pause|leave|disconnect|remove)$/,
    within: 3,
  },
  {
    rule: 'containers/stop',
    program: /^(?:docker|podman|nerdctl)$/,
    text: /\b(?:system|volume|image|container|network|builder|buildx|stack|service|secret|config|swarm|node|context) (?:prune|rm|leave|reset|scale|update|kill|stop|remove)\b|\bsystem reset\b/,
  },
  {
    rule: 'containers/privileged',
    program: /^(?:docker|podman|nerdctl|docker-compose|ctr)$/,
    any: /^--(?:privileged|device|volumes-from|device-cgroup-rule|cgroupns=host)(?!=false)/,
  },
  {
    rule: 'containers/privileged',
    program: /^(?:docker|podman|nerdctl|docker-compose|ctr)$/,
    text: /--(?:pid|net|network|ipc|uts|userns|cgroupns)[= ]host\b|--cap-add[= ](?:=)?(?:ALL|all|(?:CAP_)?(?:SYS_|NET_ADMIN|DAC_|SETUID|SETFCAP|BPF|PERFMON|MKNOD|AUDIT|MAC_))|--security-opt[= ]\S*(?:unconfined|disable|no-new-privileges[:=]false)|nsenter|-H (?:tcp|ssh):|--host[= ](?:tcp|ssh):/,
  },
  {
    rule: 'containers/privileged',
    program: /^(?:docker|podman|nerdctl|docker-compose)$/,
    text: /(?:-v|--volume|--mount)[= ]?(?:\S*(?:source|src)=)?(?:\/(?:etc|root|home|boot|var|usr|proc|sys|dev|lib|run|bin|sbin|Users|opt)?(?:\/(?:lib|run|docker|log|spool|ssh|local|share)[^:, ]*)?\/?(?=[:, ]|$)|\S*docker\.sock|\S*containerd\.sock|\S*podman\.sock|\/proc|\/sys|\/dev(?:\/|:)|\/etc\/|\/root\/|~\/?:|~\/\.ssh)/,
  },
  {
    rule: 'containers/privileged',
    program: /^(?:unshare|bwrap|runc|crun|lxc-attach|lxc-start|systemd-nspawn|nsenter|chroot|pivot_root|ctr)$/,
    any: /./,
    unless: /^(?:--version|--help|list|state \S+|ps \S+|images ls|-r|--user --map-root-user true)$/,
  },
  // Network
  {
    rule: 'network/firewall',
    program: /^(?:iptables|ip6tables|ebtables|arptables|iptables-legacy|iptables-nft)$/,
    any: /./,
    unless: /^(?:-t \S+ )?(?:-[LSnvVx]+|--list\S*)(?: [\w-]+)*(?: (?:-[nvx]+|--line-numbers|-t \S+))*$/,
  },
  {
    rule: 'network/firewall',
    program:
      /^(?:iptables-restore|ip6tables-restore|ipset|tc|wg|wg-quick|openvpn|brctl|arpspoof|ettercap|nmcli|networksetup|netplan|ifup|ifdown|wpa_cli|iw|conntrack|ipvsadm|vtysh|dhclient)$/,
    any: /./,
    unless:
      /^(?:list|-L|show.*|--version|status|get|-h|--help|dev status|d(?:ev(?:ice)?)?(?: (?:wifi|show|status).*)?|g(?:eneral)?(?: status)?|c(?:on(?:nection)?)?(?: show.*)?|qdisc show.*|-list\S*|-get\S*.*|dev)$/,
  },
  { rule: 'network/firewall', program: /^nft$/, words: /^(?:add|delete|flush|insert|replace|create|destroy|reset|-f)$/ },
  { rule: 'network/firewall', program: /^nft$/, any: /^-f$/ },
  { rule: 'network/firewall', program: /^ufw$/, unless: /^(?:status.*|show.*|version|app (?:list|info).*|--dry-run.*|--version)$/ },
  {
    rule: 'network/firewall',
    program: /^firewall-cmd$/,
    any: /^--(?:add|remove|set|reload|complete-reload|panic|change|new|delete|permanent|runtime-to|load|reset)/,
  },
  { rule: 'network/firewall', program: /^pfctl$/, any: /^-\w*[dFfeE]/ },
  {
    rule: 'network/firewall',
    program: /^ip$/,
    text: /\b(?:link|addr|address|route|rule|neigh|netns|tunnel|xfrm|a|r|l)\b.* ?\b(?:add|del|delete|set|flush|change|replace|append|down|exec)\b/,
    unless: /\bget\b/,
  },
  {
    rule: 'network/firewall',
    program: /^(?:ifconfig|route|arp|ethtool|iwconfig|resolvectl|systemd-resolve)$/,
    any: /^(?:up|down|add|del|delete|flush|netmask|hw|mtu|-s|--set-dns|dns|revert|-d|flush-caches|-K|-G|-A|essid|default)$/,
    unless: /^-[an]+$/,
  },
  {
    rule: 'network/expose',
    program:
      /^(?:ngrok|localtunnel|lt|bore|frpc|frps|chisel|serveo|pagekite|zrok|expose|gotty|ttyd|wetty|shellinaboxd|gost|localxpose|loclx|telebit|tunnelto|rathole|inlets|sish|code-server|sshuttle|websocat|vncserver|x11vnc|xrdp|telnetd|in\.telnetd|vsftpd|smbd|nmbd|rpcbind|tftpd|dropbear|sshd)$/,
    unless: /^(?:--version|version|help|--help|-V|-h|config check|-t|-T)$/,
  },
  { rule: 'network/expose', program: /^(?:npx|bunx|pnpx)$/, any: /^(?:localtunnel|ngrok|untun|cloudflared|lt|wetty)(?:@.*)?$/ },
  { rule: 'network/expose', program: /^cloudflared$/, words: /^(?:tunnel|access|service)$/, unless: /tunnel (?:list|info)/ },
  { rule: 'network/expose', program: /^tailscale$/, words: /^(?:funnel|serve|up|set|file|login|ssh)$/, unless: /status/ },
  { rule: 'network/expose', program: /^(?:ssh|autossh)$/, any: /^-\w*[RDw](?:$|\d|\S)|^-\w*g$|^-L(?:0\.0\.0\.0|\*|::)/ },
  {
    rule: 'network/expose',
    program: /^(?:ssh|autossh)$/,
    text: /-L ?(?:0\.0\.0\.0|\*|\[?::\]?):|GatewayPorts|RemoteForward|DynamicForward/,
  },
  {
    rule: 'network/expose',
    program: /^python[\d.]*$/,
    text: /(?:http\.server|SimpleHTTPServer|pyftpdlib|twisted).*(?:0\.0\.0\.0|::|(?:-d|--directory)[= ]?(?:\/|~)(?: |$))/,
  },
  { rule: 'network/expose', program: /^(?:xhost)$/, any: /^\+/ },
  { rule: 'network/expose', program: /^(?:exportfs|net|chmod-share|smbcontrol|netatalk)$/, words: /^(?:usershare|share|-a)$/ },
  { rule: 'network/expose', program: /^(?:upnpc|miniupnpc|natpmpc)$/, any: /^-[aru]/ },
  // Credentials
  {
    rule: 'credentials/store',
    program: /^security$/,
    words: /^(?:find-(?:generic|internet)-password|dump-keychain|export|find-identity|unlock-keychain|find-key)$/,
  },
  { rule: 'credentials/store', program: /^secret-tool$/, words: /^(?:lookup|search|clear|store)$/ },
  { rule: 'credentials/store', program: /^pass$/, unless: /^(?:ls|list|find .*|git .*|--version|version|help)$/, any: /./ },
  { rule: 'credentials/store', program: /^gopass$/, words: /^(?:show|cat|otp)$/ },
  {
    rule: 'credentials/store',
    program: /^(?:op|bw|lpass|keepassxc-cli|1password|dashlane|rbw|dcli|chamber|doppler|infisical|teller|berglas|akeyless|conjur)$/,
    any: /^(?:read|get|item|show|export|inject|document|secrets|password|clip|unlock|ls|list|login|signin|download|fetch)$/,
  },
  { rule: 'credentials/store', program: /^vault$/, text: /^(?:kv )?(?:get|read|login|token|write|put|unwrap|print)\b/ },
  { rule: 'credentials/store', program: /^gpg2?$/, any: /^--(?:export-secret\S*|delete-secret\S*|delete-key\S*)$/ },
  { rule: 'credentials/store', program: /^gh$/, text: /^auth (?:token|status .*--show-token|status -t)/ },
  {
    rule: 'credentials/store',
    program: /^(?:kubectl|oc|k)$/,
    text: /\bget\b.*\bsecrets?\b.*(?:-o|--output|--template)|\bdescribe secrets?\b|\bconfig view\b.*--raw|\bget secrets?\/\S+.*-o|\bcreate token\b/,
  },
  {
    rule: 'credentials/store',
    program: /^(?:npm|yarn|pnpm)$/,
    text: /^(?:token (?:list|create)|config get .*(?:_auth|token|password)|config (?:ls|list) .*-l|login|adduser)/,
  },
  { rule: 'credentials/store', program: /^(?:git)$/, text: /\bcredential(?:-\w+)? (?:fill|get|approve|reject)\b|\bcredential-\w+\b/ },
  {
    rule: 'credentials/store',
    program:
      /^(?:docker-credential-\w+|git-credential-\w+|sops|age|ansible-vault|ssh-keyscan-x|mimikatz|laZagne|hashcat|john|hydra|unshadow|chntpw|aircrack-ng|responder|linpeas(?:\.sh)?|pspy\d*)$/,
    any: /./,
    unless: /^(?:--version|--help|-V|-h|encrypt .*|-e .*|--encrypt .*)$/,
  },
  {
    rule: 'credentials/store',
    program: /^(?:heroku|vercel|netlify|fly|flyctl|railway|supabase|wrangler)$/,
    text: /\b(?:config(?::get)?(?: |$)|env (?:pull|ls|list)|env:(?:get|list)|auth:token|auth token|secrets list|variables)\b/,
    unless: /config (?:set|validate|save)/,
  },
  {
    rule: 'credentials/environment',
    program: /^printenv$/,
    unless: /^(?!.*(?:TOKEN|SECRET|PASSW|API_?KEY|CREDENTIAL|ACCESS_KEY|PRIVATE))[A-Za-z_]\w*(?: [A-Za-z_]\w*)*$/,
  },
  { rule: 'credentials/environment', program: /^env$/, unless: /(?:^| )(?!-|[A-Za-z_]\w*=|-u \S+)(?:[^-\s]\S*)/ },
  { rule: 'credentials/environment', program: /^compgen$/, any: /^-\w*[ve]/ },
  {
    rule: 'credentials/read',
    program:
      /^(?:tcpdump|tshark|dumpcap|wireshark|ngrep|strace|ltrace|gcore|gdb|dtrace|bpftrace|ptrace|keylogger|xinput|screencapture|scrot|import|arecord|ffmpeg-capture|fswebcam|logkeys|xclip|xsel|pbpaste|wl-paste)$/,
    any: /^(?:-p|--pid|-i|--interface|-w|test|--attach|-o|-out|--output|-b|--paste|-P|clipboard)$/,
  },
  // Data
  {
    rule: 'database/destroy',
    program: /^(?:dropdb|dropuser|pg_resetwal|mongorestore|pg_dropcluster|initdb)$/,
    unless: /--help|--version|--dryRun/,
  },
  { rule: 'database/destroy', program: /^mysqladmin$/, any: /^(?:drop|shutdown|flush-\w+|password|kill)$/ },
  { rule: 'database/destroy', program: /^pg_restore$/, any: /^(?:-\w*c\w*|--clean|--create|-C)$/ },
  {
    rule: 'database/destroy',
    program: /^redis-cli$|^valkey-cli$|^keydb-cli$/,
    any: /^(?:flushall|flushdb|del|unlink|shutdown|config|eval|debug|script|slaveof|replicaof|module|swapdb|cluster|failover|FLUSHALL|FLUSHDB|DEL|UNLINK|SHUTDOWN|CONFIG|EVAL|DEBUG|SCRIPT|SLAVEOF|REPLICAOF|MODULE)$/i,
    unless: /^config get|(?: |^)(?:CONFIG GET|config get|cluster info|CLUSTER INFO)/i,
  },
  {
    rule: 'database/destroy',
    program: /^prisma$/,
    text: /migrate (?:reset|resolve)|db (?:push|execute)(?:.*(?:--force-reset|--accept-data-loss)|.*--file)/,
  },
  {
    rule: 'database/destroy',
    program: /^(?:rails|rake)$/,
    any: /^db:(?:drop|reset|purge|migrate:reset|schema:load|setup|truncate_all|rollback|seed:replant|environment:set)/,
  },
  { rule: 'database/destroy', program: /^(?:artisan|php[\d.]*|sail)$/, any: /^(?:migrate:(?:fresh|reset|refresh|rollback)|db:wipe)$/ },
  { rule: 'database/destroy', program: /^(?:python[\d.]*|manage\.py|django-admin)$/, any: /^(?:flush|reset_db|sqlflush|zero)$/ },
  {
    rule: 'database/destroy',
    program:
      /^(?:alembic|flask|sequelize|sequelize-cli|knex|typeorm|mikro-orm|goose|migrate|dbmate|flyway|liquibase|drizzle-kit|sqlx|diesel|atlas|ecto|mix)$/,
    any: /^(?:downgrade|db:drop|db:migrate:undo(?::all)?|migrate:rollback|schema:drop|migration:down|down|drop|reset|clean|drop-all|dropAll|rollback|ecto\.drop|ecto\.reset|ecto\.rollback|schema:fresh|database)$/,
    unless: /^database (?:create|setup)/,
  },
  {
    rule: 'database/destroy',
    program:
      /^(?:etcdctl|consul|curator|elasticdump|influx|clickhouse-client|cqlsh|nodetool|couchbase-cli|riak-admin|aerospike|memcflush)$/,
    any: /^(?:del|delete|drop|flush|truncate|removenode|decommission|bucket-delete|bucket-flush|defrag)$|^--(?:delete|drop)/,
  },
  { rule: 'database/destroy', program: /^(?:bq)$/, words: /^(?:rm)$/ },
  {
    rule: 'network/remote-shell',
    program:
      /^(?:msfconsole|msfvenom|metasploit|empire|sliver|pwncat|pwncat-cs|weevely|evil-winrm|psexec\.py|wmiexec\.py|cryptcat|dnscat2?|gsocket|gs-netcat|tmate|upterm|warp|chisel|ligolo|stowaway)$/,
  },
];
