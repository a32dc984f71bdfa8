import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorText } from '../error-text.ts';
import { makeDirectory } from '../make-directory.ts';
import { replaceFile } from '../replace-file.ts';
import { fingerprintOf, type HostKeyVerdict, judgeHostKey, keyTypeOf, knownKeyTypes, withHostKey } from './known-hosts.ts';
import { SshError } from './ssh-error.ts';
import { addressText, type SshTarget } from './target.ts';

export interface HostKeyRules {
  /** A file of known hosts. */
  path: string;
  /** Whether the key of a host that the file does not know is believed the first time, and remembered. */
  acceptNew: boolean;
}

const keyAlgorithms = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
] as const;

/** Those by which the host is known come first, so that it shows a key that can be compared. None uses SHA-1. */
export function hostKeyAlgorithms(rules: HostKeyRules, target: SshTarget): (typeof keyAlgorithms)[number][] {
  const types = knownKeyTypes(readKnownHosts(rules.path), addressText(target));
  const isKnown = (algorithm: string): boolean => types.includes(algorithm.startsWith('rsa-') ? 'ssh-rsa' : algorithm);
  return [...keyAlgorithms.filter(isKnown), ...keyAlgorithms.filter((algorithm) => !isKnown(algorithm))];
}

/** Throws unless the key is that of the host, or the host is new and such keys are accepted. Security: nothing else makes a key a known one. */
export function verifyHostKey(rules: HostKeyRules, target: SshTarget, key: Buffer): void {
  const name = addressText(target);
  const judge = (text: string): HostKeyVerdict => judgeHostKey(text, name, key);
  const verdict = judge(readKnownHosts(rules.path));
  if (verdict.kind === 'known') return;
  if (verdict.kind !== 'unknown' || !rules.acceptNew) throw refusal(verdict, rules.path, name, key);
  try {
    makeDirectory(dirname(rules.path), 0o700);
    replaceFile(rules.path, { mode: 0o600 }, (text = '') => {
      // Another program may have met the host meanwhile.
      const now = judge(text);
      if (now.kind === 'known') return undefined;
      if (now.kind !== 'unknown') throw refusal(now, rules.path, name, key);
      return withHostKey(text, name, key);
    });
  } catch (error) {
    if (error instanceof SshError) throw error;
    const happened = `The key of ${name} cannot be written to ${rules.path}: ${errorText(error)}.`;
    throw new SshError('host-key', happened, 'Make the file writable, or add the key to it yourself.', error);
  }
}

function readKnownHosts(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw new SshError('host-key', `The known hosts cannot be read: ${errorText(error)}.`, `Make ${path} a file that you can read.`, error);
  }
}

function refusal(verdict: Exclude<HostKeyVerdict, { kind: 'known' }>, path: string, name: string, key: Buffer): SshError {
  const shown = `${keyTypeOf(key)} key ${fingerprintOf(key)}`;
  switch (verdict.kind) {
    case 'unknown':
      return new SshError(
        'host-key',
        `The host ${name} is not in ${path}. It shows the ${shown}.`,
        `Compare that with the host's own (ssh-keygen -lf on it), then add the key: ssh-keyscan prints the line.`,
      );
    case 'changed': {
      const known = verdict.known.map(({ line, fingerprint }) => `${fingerprint} (line ${line})`).join(', ');
      return new SshError(
        'host-key',
        `The key of ${name} has changed: it shows the ${shown}, and ${path} has ${known}. Someone may be between you and the host.`,
        `If the host really has a new key, remove the old one: ssh-keygen -f ${path} -R '${name}'`,
      );
    }
    case 'revoked':
      return new SshError(
        'host-key',
        `The ${shown} of ${name} is marked as revoked in ${path}, line ${verdict.line}.`,
        'Give the host a new key.',
      );
    case 'authority':
      return new SshError(
        'host-key',
        `${path} trusts an authority for ${name} (line ${verdict.line}), and certificates of hosts are not supported. It shows the ${shown}.`,
        `Add the key of the host itself to ${path}.`,
      );
  }
}
