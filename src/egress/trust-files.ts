import { createHash, X509Certificate } from 'node:crypto';
import { getCACertificates, rootCertificates } from 'node:tls';

/** The roots that this program trusts: those of Node, of the system, and of `NODE_EXTRA_CA_CERTS`. PEM. */
export function trustedRoots(): string[] {
  // Node 20 has only its own list.
  const more = typeof getCACertificates === 'function' ? [...getCACertificates('system'), ...getCACertificates('extra')] : [];
  return [...new Set([...rootCertificates, ...more].map((certificate) => certificate.trim()))];
}

/** A file for programs that read PEM: OpenSSL, GnuTLS, Go, Node, Python. */
export function pemBundle(certificates: readonly string[]): string {
  return certificates.map((certificate) => `${certificate.trim()}\n`).join('');
}

/** What Java expects of a store of roots. They are no secret. */
export const javaStorePassword = 'changeit';

/** The same for Java: a key store of format JKS, version 2, with trusted certificates only. */
export function javaKeyStore(certificates: readonly string[]): Buffer {
  const entries = certificates.map((certificate, index) => {
    const { raw } = new X509Certificate(certificate);
    const trustedCertificate = number(2);
    const createdAt = Buffer.alloc(8);
    return Buffer.concat([trustedCertificate, word(`root-${index}`), createdAt, word('X.509'), number(raw.length), raw]);
  });
  const store = Buffer.concat([number(0xfeedfeed), number(2), number(certificates.length), ...entries]);
  const password = Buffer.from(javaStorePassword, 'utf16le').swap16();
  const digest = createHash('sha1').update(password).update('Mighty Aphrodite').update(store).digest();
  return Buffer.concat([store, digest]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function word(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
