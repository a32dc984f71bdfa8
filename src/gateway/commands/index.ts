import type { IncomingMessage } from '../../core/channel.ts';
import { nearest } from '../../lib/nearest.ts';
import type { Role } from '../access.ts';
import { type ChatCommand, type CommandCall, parseCommand, usualSign } from './command.ts';

type Plain = Omit<ChatCommand, 'usage' | 'role' | 'takesTurn' | 'files'> & Partial<ChatCommand>;

function command({ usage = '', role = 'user', takesTurn = false, files = takesTurn ? 'sandbox' : 'none', ...rest }: Plain): ChatCommand {
  return { usage, role, takesTurn, files, ...rest };
}

const answerWords = { session: 'session', always: 'always' } as const;

/** `CODE [session|always]` */
async function approve({ controls, rest, sign }: CommandCall): Promise<string> {
  const [code = '', how = ''] = rest.split(/\s+/);
  if (code === '') return `${await controls.questions()}\nAnswer with ${sign}approve CODE.`;
  if (how !== '' && !(how in answerWords)) return usageOf('approve', sign);
  return await controls.answer(code.toUpperCase(), how === '' ? 'once' : answerWords[how as keyof typeof answerWords], undefined);
}

async function deny({ controls, rest, sign }: CommandCall): Promise<string> {
  const [, code = '', remark] = /^(\S*)(?:\s+([\s\S]+))?$/.exec(rest) ?? [];
  return code === '' ? usageOf('deny', sign) : await controls.answer(code.toUpperCase(), 'deny', remark);
}

/** `[forget HOST[:PORT]]` */
async function network({ controls, rest, sign }: CommandCall): Promise<string> {
  const [word = '', host, ...more] = rest.split(/\s+/);
  if (word === '') return await controls.network();
  return word === 'forget' && host !== undefined && more.length === 0 ? await controls.forgetHost(host) : usageOf('network', sign);
}

async function yolo({ controls, rest, sign }: CommandCall): Promise<string> {
  if (rest !== '' && rest !== 'on' && rest !== 'off') return usageOf('yolo', sign);
  return await controls.setYolo(rest !== 'off');
}

async function pair({ controls, rest, sign }: CommandCall): Promise<string> {
  const [code = '', role = 'user'] = rest.split(/\s+/);
  if (code === '' || (role !== 'user' && role !== 'admin')) return usageOf('pair', sign);
  return await controls.pair(code, role);
}

function usageOf(name: string, sign: string): string {
  return `Usage: ${sign}${name} ${byName.get(name)?.usage}`;
}

/** Every command there is, in the order of the help. */
export const chatCommands: readonly ChatCommand[] = [
  command({ name: 'help', help: 'lists the commands', run: async ({ role, sign }) => helpFor(role, sign) }),
  command({
    name: 'run',
    usage: 'COMMAND',
    help: 'runs a command in the sandbox of this session',
    takesTurn: true,
    run: async ({ controls, rest, sign }) => (rest === '' ? usageOf('run', sign) : await controls.runTool('terminal', { command: rest })),
  }),
  command({
    name: 'python',
    usage: 'CODE',
    help: 'runs a Python script there; it can call tools',
    takesTurn: true,
    run: async ({ controls, rest, sign }) =>
      rest === '' ? usageOf('python', sign) : await controls.runTool('execute_code', { language: 'python', code: withoutFence(rest) }),
  }),
  command({
    name: 'files',
    usage: '[PATH]',
    help: 'lists files in the sandbox',
    // It may need an approval, and the answer must not have to wait for it.
    takesTurn: true,
    run: ({ controls, rest }) => controls.files(rest),
  }),
  command({
    name: 'stop',
    help: 'stops the running turn',
    run: async ({ controls }) => ((await controls.stop()) ? 'Stopped.' : 'Nothing was running.'),
  }),
  command({
    name: 'new',
    help: 'starts a new conversation; files stay',
    run: async ({ controls }) => {
      await controls.reset();
      return 'Started a new conversation. Files in the sandbox stay.';
    },
  }),
  command({
    name: 'retry',
    help: 'answers the last message again',
    run: async ({ controls }) => ((await controls.retry()) ? undefined : 'There is no message to answer again.'),
  }),
  command({
    name: 'queue',
    usage: 'TEXT',
    help: 'queues a message for the next turn',
    files: 'own',
    run: async ({ controls, rest, sign }) => {
      if (rest === '') return usageOf('queue', sign);
      await controls.queue(rest);
      return 'Queued.';
    },
  }),
  command({
    name: 'steer',
    usage: 'TEXT',
    help: 'sends a message to the running turn',
    files: 'own',
    run: async ({ controls, rest, sign }) => {
      if (rest === '') return usageOf('steer', sign);
      return (await controls.steer(rest)) ? 'Sent to the running turn.' : 'Nothing was running, so it is queued.';
    },
  }),
  command({
    name: 'status',
    help: 'shows what runs in this session, its sandbox and the gateway',
    run: ({ controls }) => controls.status(),
  }),
  command({ name: 'usage', help: 'shows the tokens and cost of this session', run: ({ controls }) => controls.usage() }),
  command({
    name: 'model',
    usage: '[NAME]',
    help: 'shows the model; admins can choose another',
    run: async ({ controls, rest, role }) => {
      if (rest !== '' && role !== 'admin') return 'Only an admin can choose the model.';
      return await controls.model(rest === '' ? undefined : rest);
    },
  }),
  command({ name: 'approvals', help: 'lists pending questions', run: ({ controls }) => controls.questions() }),
  command({ name: 'approve', usage: 'CODE [session|always]', help: 'allows what a question is about', run: approve }),
  command({ name: 'deny', usage: 'CODE [REMARK]', help: 'denies it', run: deny }),
  command({
    name: 'network',
    usage: '[forget HOST[:PORT]]',
    help: 'shows what this session reaches, and takes answers about a host back',
    run: network,
  }),
  command({
    name: 'yolo',
    usage: '[on|off]',
    help: 'turns approvals off for you in this session; forbidden actions stay forbidden',
    role: 'admin',
    run: yolo,
  }),
  command({ name: 'pair', usage: 'CODE [user|admin]', help: 'gives the person with this pairing code access', role: 'admin', run: pair }),
  command({
    name: 'whoami',
    help: 'your id and role',
    run: async ({ from, place, role }) => `You are \`${from.id}\` on ${place.platform}. Your role: ${role}.`,
  }),
];

const byName = new Map(chatCommands.map((one) => [one.name, one]));

export type FoundCommand =
  | { kind: 'command'; command: ChatCommand; rest: string }
  | { kind: 'unknown'; name: string; say: string }
  | { kind: 'text' };

/** Whether a message is a command, a mistake, or text for the agent. Security: forwarded text is never a command. */
export function commandIn({ text, forwarded }: Pick<IncomingMessage, 'text' | 'forwarded'>, role: Role, sign = usualSign): FoundCommand {
  const parsed = forwarded ? undefined : parseCommand(text);
  if (!parsed) return { kind: 'text' };
  const { name } = parsed;
  const found = byName.get(name === 'start' ? 'help' : name);
  if (!found) {
    const meant = nearest(name, byName.keys());
    return {
      kind: 'unknown',
      name,
      say: `There is no ${sign}${name}.${meant ? ` Did you mean ${sign}${meant}?` : ''} ${sign}help lists the commands.`,
    };
  }
  if (found.role === 'admin' && role !== 'admin') return { kind: 'unknown', name, say: `${sign}${name} is for admins.` };
  return { kind: 'command', command: found, rest: parsed.rest };
}

function helpFor(role: Role, sign: string): string {
  const lines = chatCommands
    .filter((one) => role === 'admin' || one.role === 'user')
    .map(({ name, usage, help }) => `- \`${sign}${name}${usage === '' ? '' : ` ${usage}`}\`: ${help}`);
  return ['Everything else you write goes to the agent.', '', ...lines].join('\n');
}

/** People paste code as their chat shows it. */
function withoutFence(text: string): string {
  return /^```[\w-]*\n([\s\S]*?)\n?```$/.exec(text)?.[1] ?? text;
}
