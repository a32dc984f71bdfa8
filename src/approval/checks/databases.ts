import { reportUnseen } from '../programs/builtins.ts';
import { readOptions, type Valued } from '../shell/options.ts';
import { contentsOf } from '../shell/redirections.ts';
import { isUnknown } from '../shell/values.ts';
import type { Invocation } from './invocation.ts';
import { touchWrite } from './touch.ts';

interface Client extends Valued {
  /** Options whose word is SQL, options whose word is a file of SQL. */
  sql: readonly string[];
  files?: readonly string[];
  /** Words after this many are SQL. */
  wordsAfter?: number;
}

const clients: readonly (readonly [RegExp, Client])[] = [
  [
    /^(?:psql|pgcli|cockroach|yugabyte|ysqlsh)$/,
    {
      sql: ['c', 'command', 'e', 'execute'],
      files: ['f', 'file'],
      short: 'cfdhpUvoLPFRTe',
      long: ['command', 'file', 'dbname', 'host', 'port', 'username', 'set', 'output', 'execute', 'url'],
    },
  ],
  [
    /^(?:mysql|mariadb|mycli|mysqlsh)$/,
    { sql: ['e', 'execute'], short: 'ehPuDS', long: ['execute', 'host', 'port', 'user', 'database', 'socket'] },
  ],
  [
    /^(?:sqlite3?|duckdb|litecli|libsql|sqlcipher)$/,
    { sql: ['cmd', 'c', 's'], short: 'c', long: ['cmd', 'separator', 'init', 'nullvalue'], wordsAfter: 1 },
  ],
  [
    /^(?:clickhouse-client|clickhouse|clickhouse-local|trino|presto|usql|bq|snowsql|sqlplus|isql|osql|cqlsh|beeline|impala-shell|hive|spark-sql|influx|turso|wrangler|dolt|ksql)$/,
    {
      sql: ['q', 'query', 'execute', 'e', 'c', 'command'],
      short: 'qeco',
      long: ['query', 'execute', 'command', 'host', 'port', 'user', 'database'],
      wordsAfter: 1,
    },
  ],
  [/^sqlcmd$/, { sql: ['Q', 'q'], short: 'QqSUPdi' }],
];

/** SQL that reaches a database through one of its clients. */
export function databaseRules(invocation: Invocation): void {
  const { program, args, state, stdin } = invocation;
  if (/^(?:mongosh?|mongo)$/.test(program)) judgeMongo(invocation);
  const client = clients.find(([expression]) => expression.test(program))?.[1];
  if (!client) return;
  const options = readOptions(args, client);
  const files = options
    .valuesOf(...(client.files ?? []))
    .flatMap((file) => contentsOf(file, state))
    .filter((text) => !isUnknown(text));
  const words = client.wordsAfter === undefined ? [] : options.rest.slice(client.wordsAfter);
  for (const sql of [...options.valuesOf(...client.sql), ...words, ...files]) judgeSql(sql, invocation, true);
  // A dump that comes from a file is an ordinary thing to load.
  for (const sql of stdin) judgeSql(sql, invocation, false);
  for (const path of options.valuesOf('o', 'output')) touchWrite(path, program, state);
}

function judgeSql(sql: string, { program, state }: Invocation, unknownCounts: boolean): void {
  if (isUnknown(sql)) {
    if (unknownCounts) state.judgement.report('shell/unresolved-argument', program);
    if (sql.length < 2) return;
  }
  for (const line of sql.split('\n')) {
    const [, code] = /^\s*(?:\\!|\.(?:shell|system)|system|!)\s+(.*)$/.exec(line) ?? [];
    if (code !== undefined && /^\s*[\\.!s]/.test(line)) runCode(code, program, state);
  }
  const [, copied] = /\bPROGRAM\s+'((?:[^']|'')*)'/i.exec(sql) ?? [];
  if (copied !== undefined) runCode(copied, program, state);
  if (
    /\bINTO\s+(?:OUT|DUMP)FILE\b|\bLOAD_FILE\s*\(|\blo_export\b|\bxp_cmdshell\b|\bsys_exec\b|\bLANGUAGE\s+'?(?:c|plpythonu|plpython3u|plperlu)\b|\bload_extension\s*\(|^[ \t]*\.(?:output|once|import|restore|load|excel)\b/im.test(
      sql,
    )
  )
    state.judgement.report('code/inline', program);
  const bare = sql.replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, ' ').replace(/'(?:[^']|'')*'/g, "''");
  if (bare.split(';').some(isDestructive)) state.judgement.report('database/destroy', program);
}

function isDestructive(statement: string): boolean {
  if (/^\s*(?:EXPLAIN(?!\s+ANALY[SZ]E)|SHOW|DESCRIBE|HELP)\b/i.test(statement)) return false;
  if (/\bDROP\s+(?!NOT\s+NULL\b|DEFAULT\b)[A-Z]/i.test(statement) || /^\s*(?:\S+\s+)?TRUNCATE\b/i.test(statement)) return true;
  const conditional = /\bWHERE\b(?!\s*(?:1\s*=\s*1|true|1)\s*$)/i.test(statement);
  if (/\bDELETE\s+FROM\b/i.test(statement) && !conditional) return true;
  if (/\bUPDATE\s/i.test(statement) && /\bSET\b/i.test(statement) && !conditional && !/\bON\s+(?:CONFLICT|DUPLICATE)\b/i.test(statement))
    return true;
  return administers.test(statement) || /\bpg_terminate_backend\s*\(/i.test(statement);
}

const administers =
  /^\s*(?:ALTER\s+(?:USER|ROLE|SYSTEM|LOGIN)|CREATE\s+(?:USER|ROLE|LOGIN)|GRANT|REVOKE|SHUTDOWN|PURGE|RESET\s+MASTER|FLUSHALL|KILL|VACUUM\s+FULL)\b/i;

function judgeMongo({ program, args, state, stdin }: Invocation): void {
  const codes = [...readOptions(args, { long: ['eval', 'host', 'port'], short: 'up' }).valuesOf('eval'), ...stdin];
  for (const code of codes) {
    if (
      /\.(?:drop\w*|remove|deleteMany|deleteOne|dropDatabase|shutdownServer|updateMany|renameCollection|createUser|dropUser|grantRolesToUser)\s*\(/.test(
        code,
      )
    )
      state.judgement.report('database/destroy', program);
  }
}

function runCode(code: string, program: string, state: Invocation['state']): void {
  reportUnseen(code, program, state);
  state.judgement.runSource(code, state.fork(), ['']);
}
