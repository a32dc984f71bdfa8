import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const generated: Readonly<Record<string, string>> = {
  passwd: [
    'root:x:0:0:root:/nonexistent:/usr/sbin/nologin',
    'agent:x:1000:1000:agent:/home/agent:/bin/bash',
    'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
    '',
  ].join('\n'),
  group: 'root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n',
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n',
  hostname: 'sandbox\n',
  'resolv.conf': '',
  'host.conf': 'multi on\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n',
  shells: '/bin/sh\n/bin/bash\n',
};

/**
 * What programs read from the host's /etc and what is the same on many machines. Security: nothing that names the host, its users or
 * its network, and no program's settings that people put credentials into (npmrc, pip.conf, gitconfig, wgetrc, maven, profile).
 */
const copied = [
  'ld.so.cache',
  'ld.so.conf',
  'localtime',
  'mime.types',
  'services',
  'protocols',
  'debian_version',
  'os-release',
  'lsb-release',
  'inputrc',
  'ssl/openssl.cnf',
];

const bound = /^(alternatives|ld\.so\.conf\.d|fonts|terminfo|perl|groff|python\d[\d.]*|java-\d+-openjdk|ImageMagick-\d+)$/;
const boundBelow = ['ssl/certs', 'pki/tls/certs', 'pki/ca-trust/extracted', 'crypto-policies'];

/**
 * Writes the sandbox's /etc and returns which directories of the host's /etc are to be bound over it, by name below /etc.
 * Synchronous because it is a few dozen tiny files: a millisecond, instead of four through the thread pool.
 */
export function writeEtc(directory: string): string[] {
  makeDirectory(directory);
  const directories = [
    ...readdirSync('/etc').filter((name) => bound.test(name) && isDirectory(join('/etc', name))),
    ...boundBelow.filter((name) => isDirectory(join('/etc', name))),
  ];
  for (const name of directories) makeDirectory(join(directory, name));
  for (const [name, text] of Object.entries(generated)) {
    writeFileSync(join(directory, name), text);
    chmodSync(join(directory, name), 0o644);
  }
  for (const name of copied) copyPublic(join('/etc', name), join(directory, name));
  return directories;
}

/** The modes are set apart because the process may have a umask that keeps others, and so the sandbox, out. */
function makeDirectory(path: string): void {
  const first = mkdirSync(path, { recursive: true });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) chmodSync(made, 0o755);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function copyPublic(source: string, target: string): void {
  const status = lstatSync(source, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (source.startsWith('/etc/ssl/')) makeDirectory(dirname(target));
  if (status.isSymbolicLink()) {
    rmSync(target, { force: true });
    symlinkSync(readlinkSync(source), target);
    return;
  }
  // Security: root can read what nobody else may; such a file is not public, whatever its name.
  if (status.isFile() && (status.mode & 0o004) !== 0) copyFileSync(source, target);
}
