import { each, type Program, type Programs } from './program.ts';

const show =
  '--help -h --format:text --filter:text -f:text --no-trunc -q --quiet -a --all -n:text --last:text -l --latest -s --size --digests --no-stream --type:text --json';

const stops: Program = { asks: 'containers/stop' };
const starts: Program = { asks: 'containers/privileged' };

const composeFiles =
  '-f:read --file:read -p:text --project-name:text --profile:text --env-file:read --project-directory:directory --ansi:text --progress:text --compatibility';
const compose: Program = {
  options: `${composeFiles} --version -v`,
  subcommands: {
    'ps|ls|images|top|port|events|version|stats|volumes': {
      options: `${show} --services --status:text --orphans --index:text --protocol:text`,
      operands: 'text*',
    },
    logs: {
      options: '-f -t -n:text --follow --timestamps --tail:text --since:text --until:text --no-color --no-log-prefix',
      operands: 'text*',
    },
    config: {
      options: '-q --quiet --services --volumes --images --profiles --format:text --no-interpolate --environment -o:write --output:write',
      operands: 'text*',
    },
    'down|stop|kill|rm|restart|pause|unpause': stops,
    'up|run|exec|build|pull|push|create|start|cp|watch|attach|scale|publish|commit|export': starts,
  },
};

const engine: Program = {
  options: '-v --version --help -D -l:text --log-level:text',
  subcommands: {
    'ps|images|version|info': { options: show, operands: 'text*' },
    'inspect|port|history|diff|top': { options: `${show} -H --human --type:text`, operands: 'text*' },
    stats: { options: show, operands: 'text*' },
    logs: { options: '-f -t -n:text --follow --timestamps --tail:text --since:text --until:text --details', operands: 'text*' },
    search: { options: `${show} --limit:text`, operands: 'text' },
    events: { options: `${show} --since:text --until:text` },
    system: { subcommands: { 'df|info|events': { options: `${show} -v --verbose` }, prune: stops } },
    'container|image|network|volume': {
      subcommands: {
        'ls|list|inspect|logs|top|stats|port|diff|history|ps': {
          options: `${show} --tail:text --since:text --timestamps -t`,
          operands: 'text*',
        },
        'rm|prune|stop|kill|remove|disconnect|restart|pause': stops,
      },
    },
    context: { subcommands: { 'ls|list|show|inspect': { options: show, operands: 'text*' } } },
    'buildx|builder': { subcommands: { 'ls|version|du|inspect': { options: show, operands: 'text*' }, prune: stops } },
    manifest: { subcommands: { inspect: { options: '-v --verbose', operands: 'text*' } } },
    compose,
    'stop|kill|rm|rmi|prune|restart|pause|unpause|rename|update|wait': stops,
    'run|create|exec|start|cp|attach|commit|build|load|import|export|save|pull|push|tag|plugin|swarm|service|stack|node|secret|config|mount|unshare|machine|play|kube|generate':
      starts,
    'login|logout': { asks: 'credentials/write' },
  },
};

const kubeOptions = `-n:text --namespace:text -A --all-namespaces -o:text --output:text -l:text --selector:text --field-selector:text --context:text --cluster:text --show-labels --sort-by:text --no-headers --request-timeout:text -w --watch -v:text
  --show-kind --label-columns:text -L:text --chunk-size:text --ignore-not-found --include-uninitialized -R --recursive --show-managed-fields --template:text --watch-only --help -h`;
const changes: Program = { asks: 'infrastructure/change' };
const common =
  'pods pod po services service svc deployments deployment deploy ingress ingresses ing statefulsets sts daemonsets ds jobs cronjobs endpoints ep pvc hpa nodes configmaps cm'.split(
    ' ',
  );
const pairs = common.flatMap((one) => common.map((other) => `${one},${other}`));
const resources = [
  ...common,
  ...`all ns namespace namespaces node no events event ev configmap replicasets replicaset rs statefulset daemonset job cronjob cj endpoint endpointslices pv persistentvolumes persistentvolume persistentvolumeclaims persistentvolumeclaim
    horizontalpodautoscalers storageclasses storageclass sc serviceaccounts serviceaccount sa roles role rolebindings rolebinding clusterroles clusterrole clusterrolebindings clusterrolebinding networkpolicies networkpolicy netpol crd crds
    customresourcedefinitions apiservices pdb poddisruptionbudgets limitranges resourcequotas quota leases priorityclasses ingressclasses gateways httproutes certificates issuers clusterissuers cs componentstatuses`.split(
    /\s+/,
  ),
  ...[
    'pods,svc,deploy',
    'pods,services,deployments',
    'deploy,svc,ing',
    'deploy,po,svc',
    'po,svc,deploy',
    'deploy,svc,pods',
    'pods,deploy,svc',
  ],
];
const kubectl: Program = {
  options: '-n:text --namespace:text --context:text --cluster:text -v:text --request-timeout:text',
  subcommands: {
    // Secrets have many spellings, also in lists, so what else there is to get is named.
    get: {
      options: kubeOptions,
      subcommands: {
        [[...resources, ...pairs].join('|')]: { options: kubeOptions, operands: 'text*' },
        'secret|secrets': { asks: 'credentials/read' },
      },
    },
    describe: {
      options: `${kubeOptions} --show-events -f:read -k:read`,
      operands: 'text*',
      subcommands: { 'secret|secrets': { asks: 'credentials/read' } },
    },
    logs: {
      options: `${kubeOptions} -f -p -c:text --follow --previous --container:text --tail:text --since:text --since-time:text --timestamps --all-containers --prefix --max-log-requests:text --limit-bytes:text`,
      operands: 'text*',
    },
    top: { subcommands: { 'pod|pods|po|node|nodes|no': { options: `${kubeOptions} --containers --sum`, operands: 'text*' } } },
    'explain|api-resources|api-versions|version': {
      options: `${kubeOptions} --client --short --api-version:text --api-group:text --namespaced --verbs:text --cached`,
      operands: 'text*',
    },
    'cluster-info|events|wait': {
      options: `${kubeOptions} --for:text --timeout:text --types:text --all`,
      operands: 'text*',
      subcommands: { dump: changes },
    },
    config: {
      subcommands: { 'view|current-context|get-contexts|get-clusters': { options: '--minify -o:text --output:text', operands: 'text*' } },
    },
    rollout: { subcommands: { 'status|history': { options: `${kubeOptions} --revision:text --timeout:text`, operands: 'text*' } } },
    auth: { subcommands: { 'can-i|whoami': { options: `${kubeOptions} --list -q --as:text`, operands: 'text*' } } },
    diff: { options: `${kubeOptions} -f:read -k:read --filename:read --kustomize:read --server-side`, operands: '' },
    kustomize: { options: '-o:write --output:write', operands: 'read?' },
    'apply|create|delete|edit|patch|replace|scale|set|label|annotate|expose|autoscale|drain|cordon|uncordon|taint|run': changes,
    'exec|cp|attach|debug|proxy|port-forward|plugin': { asks: 'infrastructure/access' },
  },
};

const helm: Program = {
  options: '-n:text --namespace:text --kube-context:text --debug',
  subcommands: {
    'list|ls|status|history|version|env': {
      options:
        '-n:text --namespace:text -A --all-namespaces -o:text --output:text -a --all --filter:text --max:text --revision:text --short -q',
      operands: 'text*',
    },
    'template|lint|show|dependency|search': {
      options:
        '-n:text --namespace:text -f:read --values:read --set:text --set-string:text --version:text --strict --debug --output-dir:write --show-only:text -s:text --include-crds --with-subcharts',
      operands: 'text*',
    },
    get: {
      subcommands: {
        'manifest|hooks|all': { asks: 'credentials/read' },
        'values|notes|metadata': {
          options: '-n:text --namespace:text -o:text -a --all --revision:text',
          operands: 'text*',
        },
      },
    },
    'install|upgrade|uninstall|delete|rollback|push|plugin|repo|pull|registry|test': changes,
  },
};

export const containerPrograms: Programs = {
  ...each('docker podman nerdctl', engine),
  'docker-compose': compose,
  'podman-compose': compose,
  ...each('kubectl oc k3s', kubectl),
  helm,
  kustomize: { subcommands: { build: { options: '-o:write --output:write', operands: 'read?' }, version: {} } },
  minikube: {
    subcommands: { 'status|version|ip|profile|addons': { operands: 'text?' }, 'start|stop|delete|ssh|tunnel|mount|kubectl': changes },
  },
  kind: { subcommands: { get: { operands: 'text*' }, version: {}, 'create|delete|load|export': changes } },
  ...each('ctr crictl buildah skopeo lxc lxc-attach machinectl systemd-nspawn runc crun', starts),
};
