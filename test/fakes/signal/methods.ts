import { ada, bob, type FakeFile, type SignalWorld, team, us } from './world.ts';

/** What signal-cli says when it does not do what it was asked to do. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown = null) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

type Params = Readonly<Record<string, unknown>>;

/** The accounts that signal-cli has, and whether it was started for one of them. */
export interface Accounts {
  all: string[];
  isSingle: boolean;
}

/** The part of signal-cli's methods that channels of ours use. */
export function runMethod(world: SignalWorld, accounts: Accounts, method: string, params: Params): unknown {
  if (method === 'listAccounts') {
    if (accounts.isSingle) throw unknownMethod();
    return accounts.all.map((number) => ({ number }));
  }
  if (!accounts.isSingle && !accounts.all.includes(String(params.account))) throw new RpcError(-32_602, 'Specified account does not exist');
  switch (method) {
    case 'send':
      return send(world, params);
    case 'sendTyping':
      world.typing.push(chatIn(params));
      return {};
    case 'remoteDelete':
      chatIn(params);
      world.remove(numberIn(params.targetTimestamp));
      return { timestamp: world.now(), results: [] };
    case 'getAttachment':
      return attachment(world, params);
    default:
      throw unknownMethod();
  }
}

/** In the words of signal-cli, which knows some methods only in one of its modes. */
function unknownMethod(): RpcError {
  return new RpcError(-32_601, 'Method not implemented');
}

function chatIn({ recipient, groupId }: Params): string {
  if (groupId !== undefined && recipient !== undefined) throw new RpcError(-1, 'Recipients and group ids given');
  if (groupId !== undefined) {
    if (groupId !== team) throw new RpcError(-1, `Invalid group id: ${String(groupId)}`);
    return `group:${team}`;
  }
  const [one] = Array.isArray(recipient) ? (recipient as unknown[]) : [];
  const person = [us, ada, bob].find(({ uuid, number }) => uuid === one || number === one);
  if (!person)
    throw new RpcError(-1, 'Failed to send message', { response: { timestamp: 1, results: [{ type: 'UNREGISTERED_FAILURE' }] } });
  return person.uuid;
}

function numberIn(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw new RpcError(-32_600, 'not a number');
  return value;
}

const known: ReadonlySet<string> = new Set([
  ...['account', 'recipient', 'groupId', 'message', 'textStyle', 'attachments'],
  ...['quoteTimestamp', 'quoteAuthor', 'editTimestamp'],
]);

function send(world: SignalWorld, params: Params): unknown {
  for (const key of Object.keys(params))
    if (!known.has(key)) throw new RpcError(-32_600, `a parameter that our channels never use: ${key}`);
  const chat = chatIn(params);
  const { message: text = '', textStyle = [], attachments = [], quoteTimestamp, quoteAuthor, editTimestamp } = params;
  if (typeof text !== 'string') throw new RpcError(-32_600, 'message is no text');
  const styles = textStyle as string[];
  checkStyles(text, styles);
  const [file] = (attachments as string[]).map(fileIn);
  if (text === '' && !file)
    throw new RpcError(-1, 'Sending empty message is not allowed, either a message, attachment or sticker must be given.');
  const quote = quoteTimestamp === undefined ? undefined : { timestamp: numberIn(quoteTimestamp), author: String(quoteAuthor) };
  const timestamp =
    editTimestamp === undefined ? world.send({ chat, text, styles, quote, file }) : world.edit(numberIn(editTimestamp), text, styles);
  return { timestamp, results: [{ recipientAddress: { uuid: ada.uuid }, type: 'SUCCESS' }] };
}

const styleNames: ReadonlySet<string> = new Set(['BOLD', 'ITALIC', 'STRIKETHROUGH', 'MONOSPACE', 'SPOILER']);

function checkStyles(text: string, styles: readonly string[]): void {
  for (const style of styles) {
    const [, start = '', length = '', name = ''] = /^(\d+):(\d+):(.+)$/.exec(style) ?? [];
    if (!styleNames.has(name)) throw new RpcError(-1, `Invalid style: ${style}`);
    // Not a rule of signal-cli, but one of ours.
    if (Number(length) === 0 || Number(start) + Number(length) > text.length)
      throw new RpcError(-1, `A style outside of the text: ${style}`);
  }
}

/** As signal-cli reads it: anything else would be the path of a file. */
function fileIn(address: string): FakeFile {
  const [, parameters, data] = /^data:[^;,]+\/[^;,]+((?:;[^;,]+=[^;,]+)*);base64,(.+)$/s.exec(address) ?? [];
  if (data === undefined) throw new RpcError(-32_603, 'Failed to send message: no such file (AttachmentInvalidException)');
  const name = /;filename=([^;]+)/.exec(parameters ?? '')?.[1];
  return { name: name === undefined ? undefined : decodeURIComponent(name.replaceAll('+', ' ')), data: Buffer.from(data, 'base64') };
}

function attachment(world: SignalWorld, { id, recipient, groupId }: Params): unknown {
  if (typeof recipient !== 'string' && typeof groupId !== 'string') throw new RpcError(-1, 'recipient or group is required');
  const data = world.files.get(String(id));
  if (!data) throw new RpcError(-1, `Could not find attachment with ID: ${String(id)}`);
  return { data: Buffer.from(data).toString('base64') };
}
