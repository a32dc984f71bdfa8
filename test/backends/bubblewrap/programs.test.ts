import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeBubblewrap, people, run } from './open.ts';

/** Programs of the host that agents use all the time, and what they must be able to do. */
const programs: Record<string, { script: string; expected: string }> = {
  python3: {
    script: `python3 -c '
import concurrent.futures, hashlib, multiprocessing, socket, sqlite3, ssl, subprocess, tempfile, threading
assert subprocess.run(["echo", "a"], capture_output=True).stdout == b"a\\n"
with concurrent.futures.ThreadPoolExecutor() as threads: assert sum(threads.map(int, "123")) == 6
with multiprocessing.get_context("fork").Pool(2) as pool: assert pool.map(int, "12") == [1, 2]
server = socket.create_server(("127.0.0.1", 0)); socket.create_connection(server.getsockname())
assert socket.getaddrinfo("localhost", 80)
assert ssl.create_default_context().cert_store_stats()["x509"] > 10
print("python works")'`,
    expected: 'python works\n',
  },
  perl: { script: `perl -e 'my $o = \`echo a\`; print "perl works\\n" if $o eq "a\\n"'`, expected: 'perl works\n' },
  node: {
    script: `node -e 'require("child_process").execFile("echo", ["node works"], (e, out) => process.stdout.write(out))'`,
    expected: 'node works\n',
  },
  git: {
    script:
      'git init -q r && cd r && git config user.name a && git config user.email a@b.c && echo x > f && git add f && git commit -qm x && git log --format=%s',
    expected: 'x\n',
  },
  gcc: { script: `printf '#include <stdio.h>\\nint main(){puts("gcc works");}' > a.c && gcc -o a a.c && ./a`, expected: 'gcc works\n' },
  awk: { script: `echo 1 2 | awk '{print $1 + $2}'`, expected: '3\n' },
  ps: { script: 'ps -o comm= -p 1', expected: 'bwrap\n' },
  script: { script: 'script -qec "tty; stty size cols 80 rows 24" /dev/null < /dev/null | head -n 1', expected: '/dev/pts/0\r\n' },
};

describeBubblewrap('programs in a bubblewrap sandbox', () => {
  describe.each(people)('started by %s', (person) => {
    for (const [program, { script, expected }] of Object.entries(programs)) {
      it(`runs ${program}`, async ({ skip }) => {
        if (!existsSync(`/usr/bin/${program}`)) skip(`${program} is not installed`);
        const { stdout, stderr } = await run(person, script);
        expect(stderr).toBe('');
        expect(stdout).toBe(expected);
      });
    }
  });
});
