import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { User } from 'grammy/types';
import { createApp } from '../src/index.ts';
import { ada, bob } from '../test/fakes/bot-api.ts';
import { calls, says } from '../test/fakes/model-server.ts';
import { Program, type ProgramOptions } from '../test/gateway/program.ts';
import { until } from '../test/until.ts';
import { type Call, type CalledFunction, CallRecorder } from './call-recorder.ts';
import { Inspector } from './inspector.ts';

const root = join(dirname(import.meta.dirname), 'src');
const image = process.env.HERMETIC_TEST_IMAGE || 'hermetic-test:base';

/** Work that was followed through the code. */
interface Walk {
  title: string;
  functions: readonly CalledFunction[];
  calls: readonly Call[];
}

/** Opens the inspector of a process; with `waits` nothing runs before the inspector is connected. */
const listening = (waits: boolean): string =>
  `data:text/javascript,import inspector from 'node:inspector'; inspector.open(0, '127.0.0.1', ${waits});`;

const inspectorUrl = (output: string): string | undefined => /^Debugger listening on (\S+)$/m.exec(output)?.[1];

/** Docker where an engine answers, and bubblewrap elsewhere. */
async function usableBackend(): Promise<'docker' | 'bubblewrap'> {
  const app = createApp({ environment: { ...process.env, TERMINAL_DOCKER_IMAGE: image } });
  try {
    return (await app.backends.get('docker')?.check())?.usable ? 'docker' : 'bubblewrap';
  } finally {
    await app.close();
  }
}

/** Follows the same work three times in one gateway: to load everything, to count, and to see who calls. */
async function walkInGateway(
  title: string,
  options: ProgramOptions,
  work: (program: Program, number: number) => Promise<() => Promise<void>>,
): Promise<Walk> {
  const program = await Program.start({ ...options, preload: listening(false) });
  const inspector = await Inspector.connect(inspectorUrl(program.output) ?? '');
  try {
    const recorder = new CallRecorder(inspector, root);
    await (await work(program, 1))();
    const counted = await work(program, 2);
    await recorder.startCounting();
    await counted();
    const functions = await recorder.takeCalled();
    await recorder.stopCounting();
    const recorded = await work(program, 3);
    await recorder.startRecording(functions);
    await recorded();
    return { title, functions, calls: await recorder.takeCalls() };
  } finally {
    inspector.close();
    // Ending by itself it would wait until the inspector is closed.
    await program.kill();
    if (options.backend === 'docker') await program.closeWithContainers();
    else await program.close();
  }
}

/** From the update to the moment at which the gateway knows that the reply is in the chat. */
const message = (from: (number: number) => User) => async (program: Program, number: number) => {
  program.model.script = ({ last }) => (last.role === 'tool' ? says(`Reply ${number}.`) : calls(['terminal', { command: 'ls' }]));
  return async () => {
    const { id } = program.api.world.says({ text: 'What is here?', from: from(number) }).chat;
    await program.shows(`Reply ${number}.`, id);
    await program.told();
  };
};

/** From the press to the card without buttons. "Deny" is pressed, so that the command that was asked about does not run into it. */
async function press(program: Program, number: number): Promise<() => Promise<void>> {
  program.api.world.says({ text: `/run rm -rf ${program.home}/${number}`, from: bob });
  const card = await until('the approval card', () => program.sent(bob.id).find(({ markup }) => markup));
  await program.told();
  return async () => {
    const id = program.api.world.presses(bob.id, card.id, 'Deny', bob);
    await until('the press is answered', () => program.api.world.noticed.some((notice) => notice.id === id));
    await until('the card has ended', () => !card.markup);
  };
}

/** Runs `hermetic run -- ls` in a process that waits for the inspector, in a session that exists. */
async function runOnce<T>(
  home: string,
  backend: string,
  before: (recorder: CallRecorder) => Promise<void>,
  after: (recorder: CallRecorder) => T,
): Promise<T> {
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    HERMETIC_HOME: join(home, '.hermetic'),
    TERMINAL_ENV: backend,
    TERMINAL_DOCKER_IMAGE: image,
  };
  const args = ['--import', listening(true), join(dirname(root), 'bin', 'hermetic.mjs'), 'run', '--', 'ls'];
  const child = spawn(process.execPath, args, { env: environment, cwd: home, stdio: ['ignore', 'ignore', 'pipe'] });
  const exit = once(child, 'exit');
  let output = '';
  child.stderr.on('data', (data: Buffer) => (output += data));
  const inspector = await Inspector.connect(await until('the inspector listens', () => inspectorUrl(output)));
  const recorder = new CallRecorder(inspector, root);
  const isDone = Promise.withResolvers<void>();
  inspector.on('NodeRuntime.waitingForDisconnect', () => isDone.resolve());
  await inspector.send('NodeRuntime.notifyWhenWaitingForDisconnect', { enabled: true });
  await before(recorder);
  await inspector.send('Runtime.runIfWaitingForDebugger');
  await isDone.promise;
  const result = await after(recorder);
  inspector.close();
  const [code] = await exit;
  if (code !== 0) throw new Error(`hermetic run ended with ${code}: ${output}`);
  return result;
}

/** The first run makes the sandbox, the second is counted, and the third shows who calls. */
async function walkOfRun(backend: string): Promise<Walk> {
  const home = mkdtempSync(join(tmpdir(), 'hermetic-walks-'));
  const nothing = async () => undefined;
  try {
    await runOnce(home, backend, nothing, nothing);
    const functions = await runOnce(
      home,
      backend,
      (recorder) => recorder.startCounting(),
      (recorder) => recorder.takeCalled(),
    );
    const found = await runOnce(
      home,
      backend,
      (recorder) => recorder.startRecording(functions),
      (recorder) => recorder.takeCalls(),
    );
    // Functions that were only called while modules loaded are not part of the walk.
    const called = new Set<unknown>(found.map(({ to }) => to));
    const files = new Set(found.map(({ to }) => to.file));
    const isPart = (one: CalledFunction): boolean => called.has(one) || (!one.location && files.has(one.file));
    return { title: '`hermetic run -- ls`', functions: functions.filter(isPart), calls: found };
  } finally {
    const app = createApp({ environment: { PATH: process.env.PATH, HOME: home, HERMETIC_HOME: join(home, '.hermetic') } });
    for (const leftover of (await app.backends.get(backend)?.list()) ?? []) await leftover.destroy();
    await app.close();
    await rm(home, { recursive: true, force: true });
  }
}

const explanation = `Files and folders: those of \`src\` in which a function ran between the beginning and the end of the work (V8 precise coverage; everything was loaded before).
Calls: different pairs of a calling and a called file, seen on the stacks of the calls, also across \`await\`; a handler that the event loop calls has no caller, and callbacks, functions without a name, are left out. Changes of folder: those of them that leave their directory.
On the path: asynchronous functions and handlers of events, so the files through which the work passes; the others compute something for them.
\`lib\` and \`core\` are vocabulary and are only counted in brackets. The thread that judges commands is not counted.`;

const isVocabulary = (file: string): boolean => /^(lib|core)\//.test(file);

interface Measure {
  isCounted(file: string): boolean;
  onlyPath: boolean;
}

function measure({ functions, calls: found }: Walk, { isCounted, onlyPath }: Measure) {
  const handlers = new Set<unknown>(found.filter(({ from }) => !from).map(({ to }) => to));
  const fits = (one: CalledFunction): boolean => isCounted(one.file) && (!onlyPath || one.isAsync || handlers.has(one));
  const files = new Set(functions.filter(fits).map(({ file }) => file));
  const pairs = new Map(
    found.flatMap(({ from, to }) =>
      from && from.file !== to.file && to.name !== '' && isCounted(from.file) && fits(to)
        ? [[`${from.file} ${to.file}`, { from, to }]]
        : [],
    ),
  );
  const changes = [...pairs.values()].filter(({ from, to }) => dirname(from.file) !== dirname(to.file));
  return { files: files.size, folders: new Set([...files].map(dirname)).size, calls: pairs.size, changes: changes.length };
}

function tableOf(walks: readonly Walk[]): string {
  const rows = walks.map((walk) => {
    const path = measure(walk, { isCounted: (file) => !isVocabulary(file), onlyPath: true });
    const own = measure(walk, { isCounted: (file) => !isVocabulary(file), onlyPath: false });
    const all = measure(walk, { isCounted: () => true, onlyPath: false });
    const inAll = (['files', 'folders', 'calls', 'changes'] as const).map((key) => `${own[key]} (${all[key]})`);
    return `| ${[walk.title, path.calls, path.files, path.changes, ...inAll].join(' | ')} |`;
  });
  const titles = ['walk', 'calls on the path', 'files', 'changes of folder', 'files in all', 'folders', 'calls', 'changes of folder'];
  return [`| ${titles.join(' | ')} |`, `|${'---|'.repeat(titles.length)}`, ...rows].join('\n');
}

/** Each file with the functions that were called, grouped by folder. */
function filesOf({ title, functions }: Walk): string {
  const byFile = Map.groupBy(functions, ({ file }) => file);
  const files = [...byFile.keys()].sort((one, other) => dirname(one).localeCompare(dirname(other)) || one.localeCompare(other));
  const lines = [...Map.groupBy(files, dirname)].flatMap(([folder, members]) => [
    `\n${folder}/ (${members.length})`,
    ...members.map((file) => `  ${basename(file)}: ${namesOf(byFile.get(file) ?? [])}`),
  ]);
  return [`\n## ${title}`, ...lines].join('\n');
}

function namesOf(functions: readonly CalledFunction[]): string {
  const counts = new Map<string, number>();
  for (const { name, count } of functions) counts.set(name || '(anonymous)', (counts.get(name || '(anonymous)') ?? 0) + count);
  return [...counts].map(([name, count]) => (count > 1 ? `${name} ×${count}` : name)).join(', ');
}

/** The calls that leave a file, in the order in which they came. */
function stepsOf({ title, calls: found }: Walk): string {
  const steps = found.filter(({ from, to }) => from?.file !== to.file);
  const lines = steps.map(({ from, to }) => `${from ? `${from.file} ${from.name}` : '(event)'} → ${to.file} ${to.name}`);
  return [`\n## ${title}, in order`, '', ...lines].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { files: { type: 'boolean' }, steps: { type: 'boolean' } } });
  const backend = await usableBackend();
  const newcomer = (number: number): User => ({ ...bob, id: 2000 + number });
  const config = { terminal: { docker_image: image }, telegram: { allowed_users: [1, 2, 3].map((number) => `${newcomer(number).id}`) } };
  const walks = [
    await walkInGateway(
      `the first message of a Telegram chat, one \`terminal\` call on ${backend}, the reply`,
      { backend, config },
      message(newcomer),
    ),
    await walkInGateway(
      'the next message of that chat',
      { backend, config },
      message(() => ada),
    ),
    await walkOfRun(backend),
    await walkInGateway('a press on an approval button', { backend: 'local' }, press),
  ];
  console.log(`${tableOf(walks)}\n\n${explanation}`);
  if (values.files) for (const walk of walks) console.log(filesOf(walk));
  if (values.steps) for (const walk of walks) console.log(stepsOf(walk));
}
