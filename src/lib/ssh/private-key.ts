import { stat } from 'node:fs/promises';
import type { ParsedKey } from 'ssh2';
import { errorText } from '../error-text.ts';
import { readFileWithin } from '../read-file-within.ts';
import { loadSsh2 } from './load-ssh2.ts';
import { SshError } from './ssh-error.ts';

const maxBytes = 64 * 1024;

/** undefined when it is encrypted and there is no passphrase: an agent may have it. */
export async function readPrivateKey(path: string, passphrase: string | undefined): Promise<ParsedKey | undefined> {
  const text = await readKeyFile(path);
  const { utils } = await loadSsh2();
  const parsed = utils.parseKey(text, passphrase);
  // A file of the newest format can hold several.
  const [key] = [parsed].flat();
  if (key instanceof Error && /no passphrase given/i.test(key.message)) return undefined;
  if (key instanceof Error || !key?.isPrivateKey()) {
    const why = key instanceof Error ? key.message : 'it is a public key';
    const isWrong = passphrase !== undefined && key instanceof Error && /passphrase|decrypt|integrity|OpenSSH key/i.test(why);
    throw new SshError(
      'key-file',
      isWrong ? `The key ${path} cannot be decrypted with this passphrase.` : `${path} is no private key that can be used: ${why}.`,
      isWrong ? 'Correct the passphrase, or use an agent.' : 'Name the file of a private key, as ssh-keygen makes it.',
    );
  }
  return key;
}

async function readKeyFile(path: string): Promise<Buffer> {
  try {
    const { mode } = await stat(path);
    // Security: ssh refuses such a key as well.
    if (mode & 0o077) throw new SshError('key-file', `Others can read or change the key ${path}.`, `Run: chmod 600 ${path}`);
    return await readFileWithin(path, maxBytes);
  } catch (error) {
    if (error instanceof SshError) throw error;
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new SshError(
      'key-file',
      isMissing ? `There is no key ${path}.` : `The key ${path} cannot be read: ${errorText(error)}.`,
      isMissing ? 'Correct the path, or make a key there with ssh-keygen.' : 'Make it a file that you can read.',
      error,
    );
  }
}
