import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';
import { HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { errnoOf } from './errno.ts';

/** A directory with `ca.pem`, `cert.pem` and `key.pem`, as the docker program has them. */
export interface Certificates {
  directory: string;
  /** Without a `ca.pem` the authorities that the system trusts count, unless this is set. */
  needsAuthority: boolean;
}

/** What a connection to an engine proves itself by, and judges the engine by. `name` is the product's. */
export async function readCertificates({ directory, needsAuthority }: Certificates, name: string): Promise<SecureContext> {
  const [ca, cert, key] = await Promise.all(['ca.pem', 'cert.pem', 'key.pem'].map((file) => read(join(directory, file), name)));
  if (ca === undefined && needsAuthority) throw missing(join(directory, 'ca.pem'), name);
  if ((cert === undefined) !== (key === undefined)) throw missing(join(directory, cert === undefined ? 'cert.pem' : 'key.pem'), name);
  try {
    return createSecureContext({ ca, cert, key, minVersion: 'TLSv1.2' });
  } catch (error) {
    const message = `The certificates of the ${name} engine in ${directory} cannot be used: ${errorText(error)}`;
    throw new HermeticError('backend/unavailable', message, {
      hint: 'ca.pem and cert.pem must be certificates, and key.pem the key of cert.pem without a passphrase, all in PEM form.',
      cause: error,
    });
  }
}

/** undefined when there is no such file. */
async function read(path: string, name: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw new HermeticError(
      'backend/unavailable',
      `${path}, which the ${name} engine is reached with, cannot be read: ${errorText(error)}`,
      {
        hint: 'Let the user who runs Hermetic read it, or name another directory.',
        cause: error,
      },
    );
  }
}

function missing(path: string, name: string): HermeticError {
  return new HermeticError('backend/unavailable', `The ${name} engine is reached with TLS, and there is no ${path}.`, {
    hint: 'The directory must have ca.pem, and cert.pem with key.pem where the engine asks for a certificate.',
  });
}

interface Fault {
  /** Of the code of an error and its message. */
  matches: RegExp;
  code: 'backend/unavailable' | 'backend/not-permitted';
  fault: string;
  hint: string;
}

const clientHint = 'cert.pem must be signed by the authority that the engine trusts (its --tlscacert) and must not have expired.';

const faults: readonly Fault[] = [
  {
    matches: /^(CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)\b/,
    code: 'backend/unavailable',
    fault: 'its certificate has expired or is not valid yet',
    hint: 'Renew the certificate of the engine, and see that the clocks of both machines are right.',
  },
  {
    matches: /^ERR_TLS_CERT_ALTNAME_INVALID\b/,
    code: 'backend/unavailable',
    fault: 'its certificate belongs to another name',
    hint: 'Name the engine as its certificate does, or give it a certificate that has this name or address among its subjectAltName entries.',
  },
  {
    matches: /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER|UNABLE_TO_VERIFY_LEAF|CERT_SIGNATURE_FAILURE)/,
    code: 'backend/unavailable',
    fault: 'no authority that is trusted here has signed its certificate',
    hint: 'Put the certificate of its authority into ca.pem.',
  },
  {
    matches: /alert (bad certificate|certificate|unknown ca|handshake failure|access denied)/i,
    code: 'backend/not-permitted',
    fault: 'it does not accept our certificate',
    hint: clientHint,
  },
  {
    matches: /wrong version number|packet length too long/i,
    code: 'backend/unavailable',
    fault: 'it does not speak TLS at this port',
    hint: 'Engines listen with TLS at port 2376 usually, and without at 2375.',
  },
];

/** undefined for an error that has nothing to do with certificates. */
export function certificateError(error: unknown, where: string, name: string): HermeticError | undefined {
  const text = `${errnoOf(error)} ${errorText(error)}`;
  const found = faults.find(({ matches }) => matches.test(text));
  if (!found) return undefined;
  return new HermeticError(found.code, `The ${name} engine at ${where} cannot be used: ${found.fault} (${errorText(error)}).`, {
    hint: found.hint,
    cause: error,
  });
}

/** Of an engine that has never answered: with TLS 1.3 the reason why it refuses a client may be lost with the connection. */
export function closedError(where: string, name: string, cause: unknown): HermeticError {
  const message = `The ${name} engine at ${where} closed the connection before it answered, as one does that does not accept our certificate.`;
  return new HermeticError('backend/not-permitted', message, { hint: clientHint, cause });
}
