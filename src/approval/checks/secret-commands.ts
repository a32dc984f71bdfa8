import type { CommandRule } from './command-rule.ts';

/** Stores of secrets, and databases. */
export const secretCommands: readonly CommandRule[] = [
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
  { rule: 'credentials/store', program: /^git$/, words: /^credential(?:-\w+)?$/, within: 2 },
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
  { rule: 'credentials/environment', program: /^ps$/, any: /^[a-z]*e[a-z]*$/ },
  { rule: 'credentials/environment', program: /^compgen$/, any: /^-\w*[ve]/ },
  {
    rule: 'credentials/read',
    program:
      /^(?:tcpdump|tshark|dumpcap|wireshark|ngrep|strace|ltrace|gcore|gdb|dtrace|bpftrace|ptrace|keylogger|xinput|screencapture|scrot|import|arecord|ffmpeg-capture|fswebcam|logkeys|xclip|xsel|pbpaste|wl-paste)$/,
    any: /^(?:-p|--pid|-i|--interface|-w|test|--attach|-o|-out|--output|-b|--paste|-P|clipboard)$/,
  },
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
