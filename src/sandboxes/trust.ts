import { createPrivateKey, X509Certificate } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTextFile, unreadable, unwritable } from '../config/home.ts';
import type { Authority } from '../core/egress.ts';
import type { Mount } from '../core/sandbox.ts';
import { authorityDays, makeAuthority } from '../egress/certificates.ts';
import { javaKeyStore, pemBundle, trustEnvironment, trustedRoots } from '../egress/trust-files.ts';
import { makeDirectory } from '../lib/make-directory.ts';
import { replaceFile } from '../lib/replace-file.ts';

/** Where sandboxes find the files, read-only. */
const inside = '/opt/hermetic/trust';

const halfLifeMs = (authorityDays / 2) * 24 * 60 * 60 * 1000;

/** What sandboxes with a secret are given so that their programs trust the certificates of its hosts. */
export interface Trust {
  mount: Mount;
  env: Readonly<Record<string, string>>;
}

/** The authority of this installation, and certificates of earlier ones that are still valid. */
export interface Authorities {
  current: Authority;
  former: readonly string[];
}

/**
 * Made once, and made anew after half of its life. Sandboxes then trust both until the first one has ended.
 * Security: the key is in a file for its owner alone, and no sandbox ever sees it.
 */
export function readAuthorities(home: string, now = Date.now()): Authorities {
  const directory = join(home, 'egress');
  const path = join(directory, 'authority.pem');
  try {
    makeDirectory(directory, 0o700);
    replaceFile(path, { mode: 0o600 }, (text) => (text !== undefined && isFresh(text, now) ? undefined : renewed(text, now)));
  } catch (error) {
    throw unwritable(path, error);
  }
  const text = readTextFile(path, { ownerOnly: true }) ?? '';
  const [key] = text.match(/-----BEGIN PRIVATE KEY-----[^-]*-----END PRIVATE KEY-----\n/) ?? [];
  const [certificate, ...former] = certificatesIn(text);
  if (key === undefined || certificate === undefined || !new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) {
    throw unreadable(path, 'does not hold a certificate authority', undefined, 'Remove it: a new one is made, and sandboxes are replaced.');
  }
  return { current: { key, certificate }, former: former.filter((one) => isValid(one, now)) };
}

/** Writes the files for sandboxes and says what sandboxes need of them. */
export function trustIn(home: string, { current, former }: Authorities): Trust {
  const directory = join(home, 'egress', 'trust');
  const own = [current.certificate, ...former];
  const roots = [...trustedRoots(), ...own];
  try {
    makeDirectory(directory, 0o700);
    // The directories above keep other people of the host out; the user inside is another one.
    chmodSync(directory, 0o755);
    write(join(directory, 'authority.pem'), pemBundle(own));
    write(join(directory, 'roots.pem'), pemBundle(roots));
    write(join(directory, 'roots.jks'), javaKeyStore(roots));
    write(join(directory, 'wgetrc'), `ca_certificate = ${inside}/roots.pem\n`);
    write(join(directory, 'apt.conf'), `Acquire::https::CaInfo "${inside}/roots.pem";\n`);
  } catch (error) {
    throw unwritable(directory, error);
  }
  return { mount: { source: directory, target: inside, readOnly: true }, env: trustEnvironment(inside) };
}

function isFresh(text: string, now: number): boolean {
  const [current] = certificatesIn(text);
  return current !== undefined && new X509Certificate(current).validToDate.getTime() - now > halfLifeMs;
}

function isValid(certificate: string, now: number): boolean {
  return new X509Certificate(certificate).validToDate.getTime() > now;
}

function renewed(text: string | undefined, now: number): string {
  const { key, certificate } = makeAuthority('Hermetic egress', now);
  return [key, certificate, ...certificatesIn(text ?? '').filter((one) => isValid(one, now))].join('');
}

function certificatesIn(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n/g) ?? [];
}

/** A sandbox that runs sees the old file or the new one. */
function write(path: string, content: string | Buffer): void {
  if (isSame(path, Buffer.from(content))) return;
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content, { mode: 0o444 });
  renameSync(draft, path);
}

function isSame(path: string, content: Buffer): boolean {
  try {
    return readFileSync(path).equals(content);
  } catch {
    return false; // there is none yet
  }
}
