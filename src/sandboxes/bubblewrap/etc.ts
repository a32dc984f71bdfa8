import { copyFile, lstat, mkdir, readdir, readlink, stat, symlink, unlink, writeFile } from 'node:fs/promises';
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
  'timezone',
  'mime.types',
  'services',
  'protocols',
  'debian_version',
  'os-release',
  'lsb-release',
  'locale.alias',
  'inputrc',
  'magic',
  'magic.mime',
  'ssl/openssl.cnf',
];

const bound = /^(alternatives|ld\.so\.conf\.d|fonts|terminfo|perl|groff|python\d[\d.]*|java-\d+-openjdk|ImageMagick-\d+)$/;
const boundBelow = ['ssl/certs', 'pki/tls/certs', 'pki/ca-trust/extracted', 'crypto-policies'];

/** Writes the sandbox's /etc and returns which directories of the host's /etc are to be bound over it, by name below /etc. */
export async function writeEtc(directory: string): Promise<string[]> {
  await mkdir(directory, { recursive: true, mode: 0o755 });
  const top = await readdir('/etc', { withFileTypes: true });
  const directories = [
    ...top.filter((entry) => entry.isDirectory() && bound.test(entry.name)).map((entry) => entry.name),
    ...(await Promise.all(boundBelow.map(async (name) => ((await isDirectory(join('/etc', name))) ? name : undefined)))),
  ].filter((name) => name !== undefined);
  await Promise.all(directories.map((name) => mkdir(join(directory, name), { recursive: true, mode: 0o755 })));
  await Promise.all([
    ...Object.entries(generated).map(([name, text]) => writeFile(join(directory, name), text, { mode: 0o644 })),
    ...copied.map((name) => copyPublic(join('/etc', name), join(directory, name))),
  ]);
  return directories;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

async function copyPublic(source: string, target: string): Promise<void> {
  const status = await lstat(source).catch(() => undefined);
  if (status === undefined) return;
  await mkdir(dirname(target), { recursive: true, mode: 0o755 });
  if (status.isSymbolicLink()) {
    const existing = await lstat(target).catch(() => undefined);
    if (existing !== undefined) await unlink(target);
    await symlink(await readlink(source), target);
    return;
  }
  // Security: root can read what nobody else may; such a file is not public, whatever its name.
  if (status.isFile() && (status.mode & 0o004) !== 0) await copyFile(source, target);
}
