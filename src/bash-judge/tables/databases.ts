import { each, type Program, type Programs } from './program.ts';

const changes: Program = { asks: 'database/destroy' };

export const databasePrograms: Programs = {
  ...each('sqlite3 sqlite', {
    options:
      '-header -noheader -csv -json -column -line -list -box -table -markdown -tabs -html -quote -ascii -separator:text -nullvalue:text -newline:text -readonly -batch -bail -echo -stats -version -help -safe',
    operands: 'write sql',
    words: true,
  }),
  psql: {
    options: `-h:text -p:text -U:text -d:text -w -A -t -x -q -X -F:text -R:text -P:text -z -0 -H -c:sql -l -a -b -e -E --host:text --port:text --username:text --dbname:text --no-password --no-align --tuples-only --expanded --quiet --no-psqlrc --csv
      --field-separator:text --pset:text --command:sql --list --version --help --echo-all --single-transaction -1`,
    operands: 'text*',
    asksWithout: ['-c --command -l --list --version --help', 'database/destroy'],
  },
  ...each('mysql mariadb', {
    options:
      '-h:text -P:text -u:text -D:text -e:sql -N -B -s -t -E -r -A --host:text --port:text --user:text --database:text --execute:sql --batch --skip-column-names --silent --table --vertical --raw --protocol:text --version --help',
    operands: 'text?',
    asksWithout: ['-e --execute --version --help', 'database/destroy'],
  }),
  'redis-cli': {
    options: '-h:text -p:text -n:text --raw --no-raw --csv --json --version --help',
    subcommands: {
      'ping|PING|info|INFO|get|GET|mget|MGET|keys|KEYS|scan|SCAN|ttl|TTL|type|TYPE|exists|EXISTS|llen|LLEN|lrange|LRANGE|hget|HGET|hgetall|HGETALL|hkeys|HKEYS|smembers|SMEMBERS|zrange|ZRANGE|dbsize|DBSIZE|time|TIME|strlen|STRLEN':
        { operands: 'text*' },
    },
  },
  duckdb: { options: '-c:sql -csv -json -box -line -list -markdown -readonly -noheader', operands: 'write? sql?', words: true },
  pg_isready: { options: '-h:text -p:text -d:text -U:text -q -t:text', operands: '' },
  pg_dump: {
    options:
      '-h:text -p:text -U:text -d:text -w -s -a -t:text -n:text -T:text -N:text -f:write -F:text -c -C -O -x -v -Z:text --schema-only --data-only --table:text --schema:text --file:write --format:text --clean --if-exists --no-owner --no-acl --host:text --port:text --username:text --dbname:text --inserts',
    operands: 'text?',
  },
  ...each(
    'pg_restore pg_dumpall dropdb createdb dropuser createuser initdb pg_ctl vacuumdb reindexdb mysqladmin mysqldump mysqlimport mongo mongosh mongodump mongorestore mongoimport cqlsh clickhouse clickhouse-client influx etcdctl sqlcmd sqlplus bq memcached rethinkdb neo4j cypher-shell',
    changes,
  ),
};
