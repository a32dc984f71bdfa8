import { existsSync } from 'node:fs';
import { isRequired } from '../required.ts';

/** What a test that tries a program needs on this machine. */
interface Needs {
  /** Programs below /usr/bin. */
  needs?: readonly string[];
  /** Why it cannot be tried here, for another reason. */
  missing?: string | undefined;
}

/** CI installs these. Others are tried where they are. */
const expected = ['curl', 'wget', 'git', 'ssh', 'python3', 'go', 'gh', 'apt-get', 'dpkg-deb'];

export function whyMissing({ needs = [], missing }: Needs): string | undefined {
  const absent = needs.find((name) => !existsSync(`/usr/bin/${name}`) && !(isRequired('world') && expected.includes(name)));
  return absent === undefined ? missing : `${absent} is not installed`;
}

/** One word for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
