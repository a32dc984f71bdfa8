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

/** CI installs these, or has them as every Debian-like system does. Others are tried where they are. */
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

/** Runs a source file of Java whose class is `Get`. */
export const javaRun = (source: string): string => `cat >Get.java <<'END'\n${source}\nEND\njava Get.java`;

/**
 * Gets the package `tiny-deb` from an archive and shows its file: docker installs it; bubblewrap, where the system is read-only, downloads and
 * unpacks it with a directory of its own for apt.
 */
export function aptGet(kind: string, archive: string, { options = '', login = '' }: { options?: string; login?: string }): string {
  const settings = `echo "deb [trusted=yes] ${archive} tests main" >apt/etc/sources.list; echo "${login}" >apt/etc/auth.conf; `;
  if (kind === 'docker') {
    const apt = `apt-get -o Dir::Etc=/root/apt/etc ${options}`;
    return (
      `cd /root; rm -rf apt /opt/tiny-deb; mkdir -p apt/etc; ${settings}${apt} clean; ` +
      `${apt} update >&2; ${apt} install -y --reinstall tiny-deb >&2; cat /opt/tiny-deb`
    );
  }
  const apt = `apt-get -o Dir="$PWD/apt" -o Dir::Etc=etc -o Dir::State::status="$PWD/apt/status" ${options}`;
  return (
    `rm -rf apt tiny-deb*; mkdir -p apt/etc apt/var/lib/apt apt/var/cache/apt; : >apt/status; ${settings}${apt} update >&2; ` +
    `${apt} download tiny-deb >&2; dpkg-deb -x tiny-deb_*.deb tiny-deb; cat tiny-deb/opt/tiny-deb`
  );
}

/** The image of docker has these, bubblewrap shows those of this machine. */
export const aptNeeds = (kind: string): readonly string[] => (kind === 'docker' ? [] : ['apt-get', 'dpkg-deb']);
/** The last request of `aptGet`. */
export const aptArchive = '/debian/pool/tiny-deb.deb';
