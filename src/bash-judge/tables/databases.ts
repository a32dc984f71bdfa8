import { each, type Program, type Programs } from './program.ts';

const changes: Program = { asks: 'database/destroy' };

export const databasePrograms: Programs = {
  ...each('sqlite3 sqlite', {
    options:
      '-header -noheader -csv -json -column -line -list -box -table -markdown -tabs -html -quote -ascii -separator:text -nullvalue:text -newline:text -readonly -batch -bail -echo -stats -version -help -safe',
    operands: 'write sql',
    words: true,
  }),
  // What names the server, the user and the database goes to that server.
  psql: {
    options: `-h:sends -p:text -U:sends -d:sends -w -A -t -x -q -X -F:text -R:text -P:text -z -0 -H -c:sql -l -a -b -e -E --host:sends --port:text --username:sends --dbname:sends --no-password --no-align --tuples-only --expanded --quiet --no-psqlrc --csv
      --field-separator:text --pset:text --command:sql --list --version --help --echo-all --single-transaction -1`,
    operands: 'sends*',
    asksWithout: ['-c --command -l --list --version --help', 'database/destroy'],
  },
  ...each('mysql mariadb', {
    options:
      '-h:sends -P:text -u:sends -D:sends -e:sql -N -B -s -t -E -r -A --host:sends --port:text --user:sends --database:sends --execute:sql --batch --skip-column-names --silent --table --vertical --raw --protocol:text --version --help',
    operands: 'sends?',
    asksWithout: ['-e --execute --version --help', 'database/destroy'],
  }),
  'redis-cli': {
    options: '-h:sends -p:text -n:text --raw --no-raw --csv --json --version --help',
    subcommands: {
      'ping|PING|info|INFO|get|GET|mget|MGET|keys|KEYS|scan|SCAN|ttl|TTL|type|TYPE|exists|EXISTS|llen|LLEN|lrange|LRANGE|hget|HGET|hgetall|HGETALL|hkeys|HKEYS|smembers|SMEMBERS|zrange|ZRANGE|dbsize|DBSIZE|time|TIME|strlen|STRLEN':
        { operands: 'sends*' },
    },
  },
  // Its SQL reads any file that a text names.
  duckdb: {
    options: '-version -help --version --help',
    operands: 'text*',
    operandsWith: { '-version': '', '-help': '', '--version': '', '--help': '' },
    asksWithout: ['-version -help --version --help', 'code/inline'],
    words: true,
  },
  pg_isready: { options: '-h:sends -p:text -d:sends -U:sends -q -t:text', operands: '' },
  pg_dump: {
    options:
      '-h:sends -p:text -U:sends -d:sends -w -s -a -t:text -n:text -T:text -N:text -f:write -F:text -c -C -O -x -v -Z:text --schema-only --data-only --table:text --schema:text --file:write --format:text --clean --if-exists --no-owner --no-acl --host:sends --port:text --username:sends --dbname:sends --inserts',
    operands: 'text?',
  },
  ...each(
    'pg_restore pg_dumpall dropdb createdb dropuser createuser initdb pg_ctl vacuumdb reindexdb mysqladmin mysqldump mysqlimport mongo mongosh mongodump mongorestore mongoimport cqlsh clickhouse clickhouse-client influx etcdctl sqlcmd sqlplus bq memcached rethinkdb neo4j cypher-shell',
    changes,
  ),
};
