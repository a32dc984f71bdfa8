import type { CommandRule } from './command-rule.ts';

const dryRun = /--dry-run(?!=(?:none|false))|--simulate|--just-print|--what-if/;
const destroying =
  /^(?:[\w-]+:)?(?:delete|destroy|remove|rm|rb|purge|terminate|drop|erase|wipe|undeploy|uninstall|deprovision|decommission|stop|shutdown|reboot|reset|restart|disable|kill|deregister|cancel|scale|drain|evict|rollback|downsize|suspend|unset|del|prune|teardown|nuke|flush|truncate|force-delete|bulk-delete|batch-delete)(?:[-:].*)?$/;

/** Machines elsewhere, clusters and containers. */
export const infrastructureCommands: readonly CommandRule[] = [
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
];
