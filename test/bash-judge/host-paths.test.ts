import { describe, expect, it } from 'vitest';
import { judge } from '../../src/bash-judge/index.ts';
import type { JudgeContext } from '../../src/core/approval.ts';

/** A disposable sandbox with two directories of the host in it. */
const context: JudgeContext = {
  session: 'ada',
  disposable: true,
  hostPaths: ['/data', '/srv/app/.cache'],
  source: 'chat',
  role: 'user',
  home: '/root',
  ownPaths: [],
  definitions: {},
};
const judged = (command: string) => judge({ kind: 'command', command, cwd: '/workspace' }, context).kind;

describe('files of the host in a disposable sandbox', () => {
  it.each([
    'rm -rf /data',
    'rm -rf /data/x',
    'rm -rf /da*',
    'rm -rf /d?ta/x',
    'rm -rf /[d]ata',
    'rm -rf /[[:alpha:]]ata',
    'rm -rf /{data,x}',
    'shopt -s nocaseglob; rm -rf /DA*',
    'shopt -s dotglob; rm -rf /srv/app/*',
    'shopt -s globstar; rm -rf /srv/a**',
    'rm -rf /srv/a*',
    'rm -rf /*/app',
    'cd /da* && rm -rf x',
    'find /da* -delete',
    'rm -rf ../data',
    'rm -rf /tmp/../data',
    'rm -rf /tmp/.?/data',
    'rm -rf /tmp/.[.]/data',
    'shopt -s nocaseglob; rm -rf /[[:upper:]]ata',
    'rm -rf /dat$x',
    'rm -rf "/tmp/$x"',
  ])('asks about deleting files of the host: %s', (command) => expect(judged(command)).toBe('ask'));

  it.each(['rm -rf /', 'rm -rf /*', 'rm -rf /srv', 'shopt -s extglob; rm -rf /@(data)', 'shopt -s globstar; rm -rf /srv/**'])(
    'denies deleting a directory above files of the host: %s',
    (command) => expect(judged(command)).toBe('deny'),
  );

  it.each(['rm -rf build', 'rm -rf /tmp/x*', 'rm -rf /workspace/*', 'rm -rf /database', 'rm -rf /x*', 'rm -rf /srv/other/*'])(
    'allows %s, which touches no file of the host',
    (command) => expect(judged(command)).toBe('allow'),
  );
});
