import { existsSync, realpathSync } from 'node:fs';
import { isRequired } from '../required.ts';
import { rustToolchain } from './restricted.ts';

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

/** Has cargo download the crate `tiny-cargo` from the registry that the dependency names, and shows its source. */
export function cargoFetch(dependency: string): string {
  const manifest = `[package]\nname = "x"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\ntiny-cargo = ${dependency}\n`;
  return (
    'export PATH=/opt/rust/bin:$PATH CARGO_HOME=$PWD/cargo; rm -rf cargo crate; mkdir -p crate/src; cd crate; : >src/lib.rs; ' +
    `printf %s ${quoted(manifest)} >Cargo.toml; cargo fetch >&2; cat ../cargo/registry/src/*/tiny-cargo-1.0.0/src/lib.rs`
  );
}

/** The last request of `cargoFetch`. */
export const cargoArchive = '/crates/tiny-cargo/1.0.0/download';
export const cargoMissing = rustToolchain === undefined ? 'cargo is not installed by rustup' : undefined;

/** Adds a module to a new one and shows its source. The world cannot sign as the database of checksums does. */
export const goGet =
  'export GOPATH=$PWD/go GOFLAGS=-modcacherw GOSUMDB=off; rm -rf go module; mkdir module; cd module; go mod init new.test/module >&2; ' +
  'go get tiny.test/tiny-go >&2; cat "$GOPATH/pkg/mod/tiny.test/tiny-go@v1.0.0/tiny.go"';
/** The last request of `goGet`. */
export const goArchive = '/tiny.test/tiny-go/@v/v1.0.0.zip';
