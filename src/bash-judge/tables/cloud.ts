import { each, type Program, type Programs } from './program.ts';

const changes: Program = { asks: 'infrastructure/change' };
const secrets: Program = { asks: 'credentials/store' };
const varFiles =
  '-no-color -json -input:text? -var:text -var-file:read -lock:text? -lock-timeout:text? -parallelism:text? -refresh:text? -target:text? -compact-warnings -detailed-exitcode';

const terraform: Program = {
  options: '-chdir:directory? -version -help --version --help -v',
  words: true,
  subcommands: {
    fmt: { options: '-check -diff -recursive -list:text? -write:text? -no-color', operands: 'write*', words: true },
    validate: { options: '-json -no-color -test-directory:read? -no-tests', words: true },
    plan: { options: `${varFiles} -out:write? -destroy -refresh-only -replace:text? -generate-config-out:write?`, words: true },
    show: { options: '-json!credentials/read -no-color', operands: 'read?', words: true },
    providers: {
      operands: '',
      words: true,
      subcommands: {
        schema: { options: '-json', words: true },
        lock: { options: '-platform:text?', operands: 'text*', words: true },
        mirror: { options: '-platform:text?', operands: 'write', words: true },
      },
    },
    'graph|version|get|metadata|modules': {
      options: '-json -no-color -draw-cycles -plan:read? -type:text? -update',
      operands: 'text*',
      words: true,
    },
    output: { options: '-no-color -json!credentials/read -raw!credentials/read', operands: 'text?', words: true },
    state: {
      subcommands: {
        pull: { asks: 'credentials/read' },
        'list|show': { options: '-id:text? -state:read?', operands: 'text*', words: true },
        'rm|mv|push|replace-provider': changes,
      },
    },
    workspace: { subcommands: { 'list|show': {}, 'new|select|delete': changes } },
    init: { options: '-upgrade -reconfigure -input:text? -no-color -backend:text? -get:text? -lock:text? -lockfile:text?', words: true },
    'apply|destroy|import|taint|untaint|refresh|force-unlock|console|login|logout|test': changes,
  },
};

const gh: Program = {
  options: '--version --help -h -R:text --repo:text',
  subcommands: {
    'pr|issue|release|repo|run|workflow|label|gist|project|ruleset': {
      subcommands: {
        'list|ls|view|status|checks|diff': {
          options: `-R:text --repo:text -s:text --state:text -L:text --limit:text -l:text --label:text -A:text --author:text -a:text --assignee:text -S:text --search:text -q:jq --jq:jq -t:text --template:text --json:text --comments -c --web!program/option
            -B:text --base:text -H:text --head:text --name-only --patch --color:text --watch -i:text --interval:text --required --fail-fast --log --log-failed -v --verbose -j:text --job:text --exit-status -w:text --workflow:text -b:text --branch:text -u:text --user:text
            -e:text --event:text --commit:text -d --draft --milestone:text --mention:text --app:text --exclude-drafts --exclude-pre-releases --visibility:text --source --fork --language:text --topic:text --order:text --sort:text -o:text --all -r:text --ref:text -y --yaml --files -f:text --raw`,
          operands: 'text*',
        },
        checkout: {
          options: '-R:text --repo:text -b:text --branch:text --detach --recurse-submodules',
          operands: 'text?',
          brings: 'downloaded',
        },
        download: { options: '-D:into --dir:into', operands: 'text*', anyOption: true, asks: 'program/subcommand', brings: 'downloaded' },
        clone: { operands: 'remote into?', brings: 'downloaded' },
        watch: { options: '-R:text --exit-status -i:text --interval:text --compact', operands: 'text?' },
      },
    },
    'status|search': {
      options: '--json:text -q:jq --jq:jq -L:text --limit:text --state:text --repo:text --owner:text --language:text',
      operands: 'text*',
    },
    auth: {
      subcommands: { status: { options: '-h:text --hostname:text -a --active' }, 'token|login|logout|refresh|setup-git|switch': secrets },
    },
    'secret|ssh-key|gpg-key|variable': secrets,
    version: {},
  },
};

const opensslReads =
  '-text -noout -in:read -inform:text -outform:text -subject -issuer -dates -enddate -startdate -fingerprint -serial -sha256 -sha1 -sha512 -md5 -pubkey -modulus -purpose -ext:text -nameopt:text -hash -CAfile:read -verbose -checkend:text -hex -r -out:write -base64 -pubin';

export const cloudPrograms: Programs = {
  ...each('terraform tofu', terraform),
  tflint: {
    options: '--format:text --recursive --chdir:directory --no-color --minimum-failure-severity:text --init --version',
    operands: '',
  },
  ...each('aws gcloud az gsutil bq doctl linode-cli hcloud oci ibmcloud aliyun eksctl sam cdk serverless sls copilot azcopy', changes),
  ...each(
    'flyctl fly heroku vercel netlify wrangler railway render surge firebase supabase now amplify eb cf ngrok cloudflared pulumi terragrunt packer vagrant nomad consul',
    changes,
  ),
  ...each('ansible ansible-playbook ansible-galaxy ansible-vault salt chef-client puppet', changes),
  'ansible-lint': { options: '-p -q -v --offline --nocolor --strict', operands: 'read*' },
  gh,
  glab: {
    subcommands: {
      'mr|issue|ci|release|repo': {
        subcommands: {
          'list|view|diff|status': { options: '-R:text --repo:text --output:text -F:text --per-page:text --state:text', operands: 'text*' },
        },
      },
      auth: secrets,
    },
  },
  ...each(
    'vault pass op bw lpass gopass security secret-tool keyring sops age aws-vault chamber doppler gpg gpg2 gpg-agent ssh-add ssh-agent pass-cli keepassxc-cli kwallet-query',
    secrets,
  ),
  'ssh-keygen': { options: '-l -E:text -f:read', operands: '', asksWithout: ['-l', 'credentials/write'] },
  // Alone it takes commands from its standard input.
  openssl: {
    words: true,
    asksAlone: 'code/unseen',
    subcommands: {
      version: { options: '-a -v', words: true },
      'x509|req|crl|verify|asn1parse|dgst|md5|sha1|sha256': { options: opensslReads, operands: 'read*', words: true },
      rand: { options: '-hex -base64 -out:write', operands: 'text', words: true },
      'ciphers|list|help': { options: '-v -s', operands: 'text*', words: true },
      's_client|s_server|s_time|ocsp': { asks: 'network/remote' },
    },
  },
};
