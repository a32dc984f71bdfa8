import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { isIP, isIPv4 } from 'node:net';
import type { Authority } from '../core/egress.ts';
import { ipv6Words } from '../lib/ip-address.ts';
import { bits, der, identifier, integer, isTrue, numbered, octets, sequence, setOf, text, time } from './der.ts';

/** A certificate for one host, with its chain, and its key. Both PEM. */
export interface HostCertificate {
  certificate: string;
  key: string;
}

const dayMs = 24 * 60 * 60 * 1000;
export const authorityDays = 730;
const hostDays = 30;
const ecdsaWithSha256 = sequence(identifier('1.2.840.10045.4.3.2'));

/** `now` is for tests. */
export function makeAuthority(name: string, now = Date.now()): Authority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
  const signer = { name, key: privateKey, publicKeyInfo };
  const certificate = signed(signer, {
    subject: name,
    publicKeyInfo,
    now,
    days: authorityDays,
    extensions: [
      // A certificate authority that signs hosts only, no further authorities.
      extension('2.5.29.19', true, sequence(isTrue, integer(Buffer.from([0])))),
      extension('2.5.29.15', true, bits(Buffer.from([0x06]), 1)),
    ],
  });
  return { certificate: pem(certificate), key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** Makes certificates of one authority. All of them share a key, which lives as long as this object. */
export class HostCertificates {
  readonly #authority: Authority;
  readonly #signer: Signer;
  readonly #key: string;
  readonly #publicKeyInfo: Buffer;

  constructor(authority: Authority) {
    const certificate = new X509Certificate(authority.certificate);
    this.#authority = authority;
    this.#signer = {
      name: /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? '',
      key: createPrivateKey(authority.key),
      publicKeyInfo: certificate.publicKey.export({ type: 'spki', format: 'der' }),
    };
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    this.#publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
  }

  for(host: string, now = Date.now()): HostCertificate {
    const name = isIP(host) ? der(0x87, addressBytes(host)) : der(0x82, Buffer.from(host));
    const certificate = signed(this.#signer, {
      // The common name may have 64 characters; clients read the alternative name.
      subject: host.length <= 64 ? host : 'host',
      publicKeyInfo: this.#publicKeyInfo,
      now,
      days: hostDays,
      extensions: [
        extension('2.5.29.19', true, sequence()),
        extension('2.5.29.15', true, bits(Buffer.from([0x80]), 7)),
        extension('2.5.29.37', false, sequence(identifier('1.3.6.1.5.5.7.3.1'))),
        extension('2.5.29.17', false, sequence(name)),
      ],
    });
    return { certificate: pem(certificate) + this.#authority.certificate, key: this.#key };
  }
}

interface Signer {
  name: string;
  key: KeyObject;
  publicKeyInfo: Buffer;
}

interface Content {
  subject: string;
  publicKeyInfo: Buffer;
  now: number;
  days: number;
  extensions: readonly Buffer[];
}

function signed(signer: Signer, { subject, publicKeyInfo, now, days, extensions }: Content): Buffer {
  const serial = randomBytes(16);
  // Positive, and of full length.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const content = sequence(
    numbered(0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaWithSha256,
    commonName(signer.name),
    // A day back: the clock of a sandbox on another machine may be behind.
    sequence(time(new Date(now - dayMs)), time(new Date(now + days * dayMs))),
    commonName(subject),
    publicKeyInfo,
    // Both key identifiers: strict clients (Python 3.13) ask for them.
    numbered(
      3,
      sequence(
        ...extensions,
        extension('2.5.29.14', false, octets(keyIdentifier(publicKeyInfo))),
        extension('2.5.29.35', false, sequence(der(0x80, keyIdentifier(signer.publicKeyInfo)))),
      ),
    ),
  );
  return sequence(content, ecdsaWithSha256, bits(sign('sha256', content, signer.key)));
}

function commonName(value: string): Buffer {
  return sequence(setOf(sequence(identifier('2.5.4.3'), text(value))));
}

function extension(id: string, isCritical: boolean, value: Buffer): Buffer {
  return sequence(identifier(id), ...(isCritical ? [isTrue] : []), octets(value));
}

/** A name for a key, not a protection: the standard uses SHA-1. */
function keyIdentifier(publicKeyInfo: Buffer): Buffer {
  return createHash('sha1').update(publicKeyInfo).digest();
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  return Buffer.from((ipv6Words(address) ?? []).flatMap((word) => [word >> 8, word & 0xff]));
}

function pem(certificate: Buffer): string {
  const lines = certificate.toString('base64').replaceAll(/.{64}/g, '$&\n').trim();
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
