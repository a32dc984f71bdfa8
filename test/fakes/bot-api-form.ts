import type { IncomingMessage } from 'node:http';

export interface UploadedFile {
  name: string;
  data: Buffer;
}

export interface Form {
  parameters: Record<string, unknown>;
  /** By the name under which a parameter attaches it. */
  files: Map<string, UploadedFile>;
}

/** Parameters of a call, in each of the ways in which Telegram takes them. */
export async function readForm(request: IncomingMessage): Promise<Form> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const type = request.headers['content-type'] ?? '';
  const boundary = /boundary=(.+)$/.exec(type)?.[1];
  if (boundary !== undefined) return multipart(body, boundary);
  if (type.startsWith('application/json')) return { parameters: body.length === 0 ? {} : JSON.parse(body.toString()), files: new Map() };
  return { parameters: Object.fromEntries(new URLSearchParams(body.toString())), files: new Map() };
}

function multipart(body: Buffer, boundary: string): Form {
  const form: Form = { parameters: {}, files: new Map() };
  const mark = Buffer.from(`--${boundary}`);
  let at = body.indexOf(mark);
  while (at >= 0) {
    const from = at + mark.length + 2;
    const next = body.indexOf(mark, from);
    if (next < 0) break;
    const part = body.subarray(from, next - 2);
    const head = part.subarray(0, part.indexOf('\r\n\r\n')).toString();
    const content = part.subarray(part.indexOf('\r\n\r\n') + 4);
    const name = /name="([^"]*)"/.exec(head)?.[1] ?? '';
    const fileName = /filename="?([^"\r\n]*)"?/.exec(head)?.[1];
    if (fileName === undefined) form.parameters[name] = value(content.toString());
    else form.files.set(name, { name: fileName, data: Buffer.from(content) });
    at = next;
  }
  return form;
}

/** A form has only text; what is structured comes as JSON in it. */
function value(text: string): unknown {
  if (!/^[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
