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
const javaStorePassword = 'changeit';

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

/** The variables for programs that do not read the certificates of the system, or that would have to have them replaced. `directory` has the files. */
export function trustEnvironment(directory: string): Readonly<Record<string, string>> {
  const all = `${directory}/roots.pem`;
  return {
    SSL_CERT_FILE: all,
    CURL_CA_BUNDLE: all,
    GIT_SSL_CAINFO: all,
    REQUESTS_CA_BUNDLE: all,
    PIP_CERT: all,
    CARGO_HTTP_CAINFO: all,
    npm_config_cafile: all,
    AWS_CA_BUNDLE: all,
    CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE: all,
    NIX_SSL_CERT_FILE: all,
    // These two add to the list that the program has.
    NODE_EXTRA_CA_CERTS: `${directory}/authority.pem`,
    DENO_CERT: `${directory}/authority.pem`,
    WGETRC: `${directory}/wgetrc`,
    APT_CONFIG: `${directory}/apt.conf`,
    JAVA_TOOL_OPTIONS: `-Djavax.net.ssl.trustStore=${directory}/roots.jks -Djavax.net.ssl.trustStorePassword=${javaStorePassword}`,
  };
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
