import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';

const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** The certificates of these hosts are not valid, each for another reason. */
export const invalidHosts = { expired: 'expired.test', otherName: 'other-name.test', unknownAuthority: 'unknown-authority.test' } as const;

type Flaw = keyof typeof invalidHosts;

function flawOf(name: string): Flaw | undefined {
  return (Object.keys(invalidHosts) as Flaw[]).find((flaw) => invalidHosts[flaw] === name);
}

/** Signs a certificate for any name. Made by the openssl program, so that the product's own certificates are not judged by themselves. */
export class Authority {
  readonly certificateFile: string;
  readonly #keyFile: string;
  readonly #directory: string;
  readonly #contexts = new Map<string, SecureContext>();

  constructor(directory: string) {
    this.#directory = directory;
    this.certificateFile = join(directory, 'ca.pem');
    this.#keyFile = join(directory, 'ca.key');
    const subject = ['-subj', '/CN=Authority of a test', '-days', '2'];
    const use = ['-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
    openssl(['req', '-x509', ...key, ...subject, ...use, '-keyout', this.#keyFile, '-out', this.certificateFile]);
  }

  get certificateText(): Buffer {
    return readFileSync(this.certificateFile);
  }

  contextFor(name: string): SecureContext {
    const context = this.#contexts.get(name) ?? createSecureContext(this.sign(name));
    this.#contexts.set(name, context);
    return context;
  }

  /** For a server or a client. `user` is the name of its owner. */
  sign(
    name: string,
    { flaw = flawOf(name), user = 'Server of a test' }: { flaw?: Flaw; user?: string } = {},
  ): { cert: Buffer; key: Buffer } {
    const file = join(this.#directory, `leaf-${this.#contexts.size}`);
    const signer = flaw === 'unknownAuthority' ? ['-signkey', `${file}.key`] : ['-CA', this.certificateFile, '-CAkey', this.#keyFile];
    const signed = flaw === 'otherName' ? 'another.test' : name;
    const extensions = [`subjectAltName=DNS:${signed}`, 'basicConstraints=critical,CA:FALSE', 'extendedKeyUsage=serverAuth,clientAuth'];
    const subject = ['-subj', `/CN=${user}`, ...extensions.flatMap((extension) => ['-addext', extension])];
    openssl(['req', ...key, ...subject, '-keyout', `${file}.key`, '-out', `${file}.csr`]);
    const days = flaw === 'expired' ? '-1' : '1';
    openssl(['x509', '-req', '-in', `${file}.csr`, ...signer, '-days', days, '-copy_extensions', 'copy', '-out', `${file}.pem`]);
    return { cert: readFileSync(`${file}.pem`), key: readFileSync(`${file}.key`) };
  }
}

function openssl(args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
