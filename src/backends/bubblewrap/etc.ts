import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Files made up for the sandbox, by name below /etc. */
export const generatedEtc: Readonly<Record<string, string>> = {
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
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n',
};

/**
 * Files of the host's /etc that programs read and that are alike on many machines. Security: nothing that names the host, its users or
 * its network, and no program's settings that people put credentials into (npmrc, pip.conf, gitconfig, wgetrc, maven, profile).
 */
const shownNames = [
  /^(ld\.so\.cache|ld\.so\.conf|ld\.so\.conf\.d|alternatives|localtime|os-release|lsb-release|debian_version)$/,
  /^(mime\.types|services|protocols|fonts|perl|python\d[\d.]*|java-\d+-openjdk|ImageMagick-\d+|crypto-policies)$/,
];
const shownBelow = ['ssl/certs', 'ssl/openssl.cnf', 'pki/tls/certs', 'pki/ca-trust/extracted'];

/** The options of bubblewrap that show those parts of the host's /etc. */
export function sharedEtcArguments(): string[] {
  const names = readdirSync('/etc').filter((name) => shownNames.some((shown) => shown.test(name)));
  return [...names, ...shownBelow].flatMap((name) => {
    const path = join('/etc', name);
    const status = lstatSync(path, { throwIfNoEntry: false });
    if (status === undefined) return [];
    return status.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
  });
}
