import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';

/** Serves a request to one host of the world. */
export type Site = (request: IncomingMessage, response: ServerResponse, path: string) => void;

/** Makes a value at its first use: most worlds need no package. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** The npm registry with one package, `tiny-npm`, whose program prints a line. */
export function npmRegistry(directory: string): Site {
  const tarball = once(() => {
    const folder = join(directory, 'npm');
    mkdirSync(join(folder, 'package'), { recursive: true });
    const manifest = { name: 'tiny-npm', version: '1.0.0', main: 'index.js' };
    writeFileSync(join(folder, 'package/package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'package/index.js'), "module.exports = 'tiny-npm works';\n");
    return execFileSync('tar', ['czf', '-', '-C', folder, 'package']);
  });
  return (request, response, path) => {
    if (path === '/tiny-npm/-/tiny-npm-1.0.0.tgz') return void response.end(tarball());
    if (path !== '/tiny-npm') return notFound(response);
    const integrity = `sha512-${hash('sha512', tarball(), 'base64')}`;
    const dist = { tarball: `https://${request.headers.host}/tiny-npm/-/tiny-npm-1.0.0.tgz`, integrity };
    const versions = { '1.0.0': { name: 'tiny-npm', version: '1.0.0', dist } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: 'tiny-npm', 'dist-tags': { latest: '1.0.0' }, versions }));
  };
}

/** The index of Python packages with one package, `tiny-pip`. Its files are at another host, as those of PyPI are, or below the directory. */
export function pythonIndex(filesHost: string, directory?: string): Site {
  const files: Site = directory === undefined ? (_request, response) => notFound(response) : pythonFiles(directory);
  return (request, response, path) => {
    if (path !== '/simple/tiny-pip/') return files(request, response, path);
    response.setHeader('content-type', 'text/html');
    response.end(`<!DOCTYPE html><a href="https://${filesHost}/packages/${wheelName}">${wheelName}</a>`);
  };
}

const wheelName = 'tiny_pip-1.0-py3-none-any.whl';

export function pythonFiles(directory: string): Site {
  const wheel = once(() => {
    mkdirSync(directory, { recursive: true });
    const described = 'tiny_pip-1.0.dist-info';
    const files = {
      'tiny_pip.py': "works = 'tiny-pip works'\n",
      [`${described}/METADATA`]: 'Metadata-Version: 2.1\nName: tiny-pip\nVersion: 1.0\n',
      [`${described}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    };
    const record = `${[...Object.keys(files), `${described}/RECORD`].map((name) => `${name},,`).join('\n')}\n`;
    return zipped(join(directory, wheelName), { ...files, [`${described}/RECORD`]: record });
  });
  return (_request, response, path) => {
    if (path !== `/packages/${wheelName}`) return notFound(response);
    response.end(wheel());
  };
}

/** A Debian archive with one package, `tiny-deb`, in the suite `tests`. It is not signed. */
export function debianArchive(directory: string): Site {
  const files = once(() => {
    const tree = join(directory, 'deb');
    mkdirSync(join(tree, 'DEBIAN'), { recursive: true, mode: 0o755 });
    mkdirSync(join(tree, 'opt'), { recursive: true });
    const about = 'Package: tiny-deb\nVersion: 1.0\nArchitecture: all\nMaintainer: Test <test@example.org>\nDescription: a test\n';
    writeFileSync(join(tree, 'DEBIAN/control'), about);
    writeFileSync(join(tree, 'opt/tiny-deb'), 'tiny-deb works\n');
    const file = join(directory, 'tiny-deb.deb');
    execFileSync('dpkg-deb', ['--root-owner-group', '--build', tree, file], { stdio: 'ignore' });
    const deb = readFileSync(file);
    const packages = Buffer.from(`${about}Filename: pool/tiny-deb.deb\nSize: ${deb.length}\nSHA256: ${hash('sha256', deb)}\n`);
    const architecture = execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim();
    const index = `main/binary-${architecture}/Packages`;
    const release = Buffer.from(
      `Suite: tests\nCodename: tests\nComponents: main\nArchitectures: ${architecture}\nDate: ${new Date().toUTCString()}\n` +
        `SHA256:\n ${hash('sha256', packages)} ${packages.length} ${index}\n`,
    );
    return new Map([
      ['/debian/dists/tests/Release', release],
      [`/debian/dists/tests/${index}`, packages],
      ['/debian/pool/tiny-deb.deb', deb],
    ]);
  });
  return (_request, response, path) => {
    const file = files().get(path);
    if (!file) return notFound(response);
    response.setHeader('content-length', file.length);
    response.end(file);
  };
}

/** The `config.json` of an index of crates. */
interface CrateSettings {
  dl: string;
  api: string;
  'auth-required'?: boolean;
}

const publicCrates: CrateSettings = { dl: 'https://static.crates.io/crates', api: 'https://crates.io' };

/** The index of crates with one crate, `tiny-cargo`, in the sparse protocol, and the host of its files. */
export function crateRegistry(directory: string, settings = publicCrates): { index: Site; files: Site } {
  const crate = once(() => {
    const folder = join(directory, 'crate');
    mkdirSync(join(folder, 'tiny-cargo-1.0.0/src'), { recursive: true });
    writeFileSync(join(folder, 'tiny-cargo-1.0.0/Cargo.toml'), '[package]\nname = "tiny-cargo"\nversion = "1.0.0"\nedition = "2021"\n');
    writeFileSync(join(folder, 'tiny-cargo-1.0.0/src/lib.rs'), '// tiny-cargo works\n');
    return execFileSync('tar', ['czf', '-', '-C', folder, 'tiny-cargo-1.0.0']);
  });
  const entry = () => ({ name: 'tiny-cargo', vers: '1.0.0', deps: [], cksum: hash('sha256', crate()), features: {}, yanked: false });
  return {
    index: (_request, response, path) => {
      if (path === '/config.json') response.end(JSON.stringify(settings));
      else if (path === '/ti/ny/tiny-cargo') response.end(`${JSON.stringify(entry())}\n`);
      else notFound(response);
    },
    files: (_request, response, path) => {
      if (path === '/crates/tiny-cargo/1.0.0/download') response.end(crate());
      else notFound(response);
    },
  };
}

/** The same at one host, which tells cargo to send its token with every request. */
export function privateCrateRegistry(directory: string, host: string): Site {
  const { index, files } = crateRegistry(directory, { dl: `https://${host}/crates`, api: `https://${host}`, 'auth-required': true });
  return (request, response, path) => (path.startsWith('/crates/') ? files : index)(request, response, path);
}

/** The proxy of Go modules with one module, `tiny.test/tiny-go`. */
export function goProxy(directory: string): Site {
  const module = 'tiny.test/tiny-go';
  const manifest = `module ${module}\n`;
  const files = once(() => {
    mkdirSync(directory, { recursive: true });
    const content = { 'go.mod': manifest, 'tiny.go': '// tiny-go works\npackage tiny\n' };
    const paths = Object.entries(content).map(([name, text]) => [`${module}@v1.0.0/${name}`, text]);
    return new Map<string, string | Buffer>([
      ['list', 'v1.0.0\n'],
      ['v1.0.0.info', JSON.stringify({ Version: 'v1.0.0' })],
      ['v1.0.0.mod', manifest],
      ['v1.0.0.zip', zipped(join(directory, 'tiny-go.zip'), Object.fromEntries(paths))],
    ]);
  });
  const prefix = `/${module}/@v/`;
  return (_request, response, path) => {
    const file = path.startsWith(prefix) ? files().get(path.slice(prefix.length)) : undefined;
    if (file === undefined) return notFound(response);
    response.end(file);
  };
}

/** An archive of these texts by their paths. It is also written to the file. */
function zipped(file: string, texts: Readonly<Record<string, string>>): Buffer {
  const program =
    'import json, sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], "w") as z:\n for n, t in json.loads(sys.argv[2]).items(): z.writestr(n, t)';
  execFileSync('python3', ['-c', program, file, JSON.stringify(texts)]);
  return readFileSync(file);
}

function notFound(response: ServerResponse): void {
  response.statusCode = 404;
  response.end('not found\n');
}
