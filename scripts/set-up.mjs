// Makes a clone ready: npm dependencies, the pinned Node, the web page, and a sandbox engine.
// Plain JavaScript, because it runs on any Node from 20 on.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { delimiter, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { buildWeb, isWebBuilt } from './build-web.mjs';

const ownRoot = dirname(dirname(fileURLToPath(import.meta.url)));

/** A failure whose message is all the reader needs. */
export class SetUpError extends Error {}

/** Brings the clone in order; quick when there is nothing to do. `say` gets one line per thing done. */
export async function setUp(root = ownRoot, say = sayOnStderr) {
  if (!isInstalled(root) || !pinnedNodeWorks(root, say) || !isWebBuilt(root)) {
    await withLock(join(root, '.setup-lock'), say, () => {
      if (!isInstalled(root)) install(root, say);
      if (!pinnedNodeWorks(root, say)) repairNode(root, say);
      if (!isWebBuilt(root)) build(root, say);
    });
  }
  await ensureSandboxPrograms(say);
}

/** npm writes node_modules/.package-lock.json last, so it is missing after an install that was cut off. */
export function isInstalled(root) {
  const installed = readJson(join(root, 'node_modules', '.package-lock.json'))?.packages;
  const locked = readJson(join(root, 'package-lock.json'))?.packages;
  if (!installed || !locked) return false;
  return Object.entries(locked).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    return found ? found.version === entry.version : entry.optional === true || entry.devOptional === true;
  });
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined; // missing or half-written: both mean "not installed"
  }
}

function install(root, say) {
  say('Installing npm dependencies (npm ci)');
  npm(root, ['ci', '--include=dev', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']);
}

function pinnedNodeWorks(root, say) {
  const version = readJson(join(root, 'package-lock.json'))?.packages?.['node_modules/node']?.version;
  if (!version) return true;
  const binary = join(root, 'node_modules', '.bin', 'node');
  if (!existsSync(binary)) return false;
  checkPinnedNode(binary, version, say);
  if (realpathSync(binary) === realpathSync(process.execPath)) return process.versions.node === version;
  return spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout?.trim() === `v${version}`;
}

/**
 * Security: npm checks what the lock file names, but the package `node` fetches its binary by a script of its own, which no lock file covers.
 * A binary with another hash is never run: it is moved aside, so that nothing else finds it either.
 */
export function checkPinnedNode(binary, version, say, platform = `${process.platform}-${process.arch}`) {
  const known = JSON.parse(readFileSync(new URL('pinned-node.json', import.meta.url), 'utf8'));
  if (known.version !== version)
    throw new SetUpError(`scripts/pinned-node.json has the hashes of Node ${known.version}, not of ${version}.`);
  const expected = known.sha256[platform];
  if (!expected) {
    say(`No hash of Node ${version} is recorded for ${platform}: its binary is used unchecked (see SECURITY.md).`);
    return;
  }
  const found = hashOf(binary);
  if (found === expected) return;
  const path = realpathSync(binary);
  const aside = `${path}.refused`;
  renameSync(path, aside);
  throw new SetUpError(
    `The binary of Node ${version} that npm fetched is not the one it should be, and was moved to ${aside}.\n` +
      `Its SHA-256 is ${found}, and should be ${expected}.\n` +
      'Remove node_modules and start again to fetch it anew. If it happens again, do not run it, and report it (SECURITY.md).',
  );
}

function hashOf(path) {
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(1024 * 1024);
  const file = openSync(path, 'r');
  try {
    for (let count = readSync(file, chunk); count > 0; count = readSync(file, chunk)) hash.update(chunk.subarray(0, count));
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}

function repairNode(root, say) {
  say('Fetching the pinned Node (npm rebuild node)');
  // ignore-scripts is overruled for this one package: fetching the binary is its install script.
  npm(root, ['rebuild', 'node', '--ignore-scripts=false', '--loglevel=error']);
  if (!pinnedNodeWorks(root, say)) throw new SetUpError('The pinned Node in node_modules/node does not run on this machine.');
}

function build(root, say) {
  say('Building the web page (npm run build:web)');
  const failure = buildWeb(root);
  if (failure) throw new SetUpError(`The web page could not be built: ${failure}`);
}

function npm(root, args) {
  const ownBin = join(root, 'node_modules', '.bin');
  // npm must not run on the pinned Node: it is about to replace it.
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => resolve(entry) !== ownBin);
  const env = { ...process.env, PATH: path.join(delimiter) };
  // Standard output becomes ours on stderr, so that a command's own output stays clean.
  const { status, error } = spawnSync('npm', args, { cwd: root, env, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  if (error) throw new SetUpError(`npm could not be started: ${error.message}`);
  if (status !== 0) throw new SetUpError(`npm ${args[0]} failed (see above). Check the network and run it again in ${root}.`);
}

function findOnPath(name) {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, name), constants.X_OK);
      return directory !== '';
    } catch {
      return false; // not in this directory
    }
  });
}

function engineAnswers() {
  const host = process.env.DOCKER_HOST || 'unix:///var/run/docker.sock';
  const target = host.startsWith('unix://') ? { path: host.slice('unix://'.length) } : tcpTarget(host);
  if (!target) return true; // ssh:// and the like: the user chose that engine, and only docker can tell whether it answers
  return new Promise((settle) => {
    const socket = connect(target);
    const end = (answer) => {
      socket.destroy();
      settle(answer);
    };
    socket.setTimeout(500, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

function tcpTarget(host) {
  if (!host.startsWith('tcp://') || !URL.canParse(host)) return undefined;
  const { hostname, port } = new URL(host);
  return { host: hostname, port: Number(port || 2375) };
}

/** What bubblewrap sandboxes need: the program that makes them, and the one that gives them a network. Packages have the names of Debian. */
const sandboxPrograms = { bwrap: 'bubblewrap', slirp4netns: 'slirp4netns' };

/** Failing here is no reason to stop: `hermetic doctor` says what is missing, and other backends may do. */
export async function ensureSandboxPrograms(say) {
  if (process.platform !== 'linux') return;
  const packages = Object.entries(sandboxPrograms).flatMap(([program, name]) => (findOnPath(program) ? [] : [name]));
  if (packages.length === 0 || (await engineAnswers())) return;
  const names = packages.join(' ');
  const lack = packages.includes('bubblewrap') ? 'No sandbox engine found.' : 'Sandboxes will have no network.';
  if (!existsSync('/etc/debian_version') || !findOnPath('apt-get')) {
    say(`${lack} Install with the package manager of this system: ${names}`);
    return;
  }
  if (process.getuid?.() !== 0) {
    say(`${lack} Install with: sudo apt-get install ${names}`);
    return;
  }
  const steps = [
    ['apt-get', 'update'],
    ['apt-get', 'install', '-y', '--no-install-recommends', ...packages],
  ];
  for (const [command, ...args] of steps) {
    say(`Installing ${names}: ${command} ${args.join(' ')}`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const { status } = spawnSync(command, ['-qq', '-o', 'DPkg::Lock::Timeout=120', ...args], { env, stdio: ['ignore', 2, 2] });
    if (status !== 0) {
      say(`${command} ${args[0]} failed (see above). ${lack} Install by hand: apt-get install ${names}`);
      return;
    }
  }
}

async function withLock(path, say, work) {
  const mine = String(process.pid);
  const deadline = Date.now() + 15 * 60_000;
  let waiting = false;
  while (!(await takeLock(path, mine))) {
    if (Date.now() > deadline) throw new SetUpError(`Another set-up holds ${path}. Remove the file if none is running.`);
    if (!waiting) say(`Waiting for another set-up of this clone (${path})`);
    waiting = true;
    await sleep(200);
  }
  try {
    work();
  } finally {
    rmSync(path, { force: true });
  }
}

async function takeLock(path, mine) {
  const draft = `${path}.${mine}`;
  try {
    // A link, unlike a write, makes the file appear with its content.
    writeFileSync(draft, mine);
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw new SetUpError(`${path} cannot be written: ${error.message}`);
    if (ownerLives(path)) return false;
    // Two may find the same dead owner: the last rename wins, and after a moment both can see whose it was.
    renameSync(draft, path);
    await sleep(100);
    return existsSync(path) && readFileSync(path, 'utf8') === mine;
  } finally {
    rmSync(draft, { force: true });
  }
}

function ownerLives(path) {
  try {
    return process.kill(Number.parseInt(readFileSync(path, 'utf8'), 10), 0);
  } catch (error) {
    return error.code === 'EPERM' || error.code === 'ENOENT';
  }
}

function sayOnStderr(line) {
  process.stderr.write(`set-up: ${line}\n`);
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    await setUp();
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    sayOnStderr(error.message);
    process.exitCode = 1;
  }
}
