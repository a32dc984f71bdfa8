import { existsSync, realpathSync } from 'node:fs';
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
  const absent = needs.find((name) => !isInstalled(name) && !(isRequired('world') && expected.includes(name)));
  return absent === undefined ? missing : `${absent} is not installed below /usr`;
}

/** Sandboxes of the tests show /usr of this machine, and no other place that a link there may lead to. */
function isInstalled(name: string): boolean {
  const path = `/usr/bin/${name}`;
  return existsSync(path) && realpathSync(path).startsWith('/usr/');
}

/** One word for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Adds a module to a new one and shows its source. The world cannot sign as the database of checksums does. */
export const goGet =
  'export GOPATH=$PWD/go GOFLAGS=-modcacherw GOSUMDB=off; rm -rf go module; mkdir module; cd module; go mod init new.test/module >&2; ' +
  'go get tiny.test/tiny-go >&2; cat "$GOPATH/pkg/mod/tiny.test/tiny-go@v1.0.0/tiny.go"';
/** The last request of `goGet`. */
export const goArchive = '/tiny.test/tiny-go/@v/v1.0.0.zip';
