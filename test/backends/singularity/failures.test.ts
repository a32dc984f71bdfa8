import { describe, expect, it } from 'vitest';
import { startError } from '../../../src/backends/singularity/failures.ts';

describe('why a container of Apptainer did not start', () => {
  it.each([
    ['unshare: unshare failed: Operation not permitted', 'backend/unavailable', /User namespaces/, /sysctl/],
    ['singularity: line 1: /proc/sys/user/max_user_namespaces: Read-only file system', 'backend/unavailable', /forbidden inside/, /doctor/],
    ["unshare: unrecognized option '--map-user=1000'", 'backend/not-installed', /util-linux 2\.38/, /apt-get install util-linux/],
    ['Error for command "exec": unknown flag: --no-mount', 'backend/unavailable', /too old/, /1\.2 or newer/],
    ["FATAL: while mounting overlay: can't mount overlay: invalid argument", 'sandbox/open-failed', /overlay/, /singularity_overlay/],
    ['FATAL: could not load seccomp profile', 'backend/unavailable', /filter system calls/, /bubblewrap/],
    ['FATAL: exec /bin/bash failed: no such file or directory', 'sandbox/open-failed', /no bash/, /bash 5/],
    ['', 'sandbox/open-failed', /without a message/, /bubblewrap/],
  ])('%j is told with its remedy', (stderr, code, message, hint) => {
    expect(startError(stderr)).toMatchObject({ code, message: expect.stringMatching(message), hint: expect.stringMatching(hint) });
  });
});
