import { isIP } from 'node:net';
import * as z from 'zod';
import type { Destination } from '../../core/egress.ts';
import { addressClass } from '../../egress/addresses.ts';
import { credentialHeaders } from '../../egress/bound-secret.ts';
import { egressEnvironment } from '../../egress/environment.ts';
import { isLocalhost, parseDestination } from '../../egress/rules.ts';
import { trustEnvironment } from '../../egress/trust-files.ts';
import { flag, listOf, notes, variableName } from '../../lib/setting-kinds.ts';
import { variableNameRule } from '../../lib/variable-name.ts';
import { decidesStart } from '../start-variables.ts';

/** The sandbox sets them itself, so that its programs find the proxy and trust the certificates of hosts with a secret. */
const ownVariables = new Set([...Object.keys(egressEnvironment), ...Object.keys(trustEnvironment('')), 'ALL_PROXY', 'all_proxy']);

/** They say how a request is read, and proxies take some of them out. */
const structuralHeaders =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|accept-encoding|sec-.*)$/i;

/** Where a secret may be put in by its host and port, or why not. */
export function parseSecretHost(text: string): Destination | string {
  const quoted = JSON.stringify(text);
  if (text.includes('://')) return `${quoted} is a URL. Write only its host, such as api.example.com.`;
  if (text.includes('*')) return `${quoted} has a wildcard. A secret is bound to exact hosts: name each of them.`;
  if (/\/\d+$/.test(text)) return `${quoted} is an address range. A secret is bound to exact hosts: name each of them.`;
  const destination = parseDestination(text, 443);
  if (destination === undefined) return `${quoted} is not HOST or HOST:PORT.`;
  const { host, port } = destination;
  if (isLocalhost(host) || (isIP(host) !== 0 && addressClass(host) !== 'public')) {
    return `${quoted} is not a public address. A secret is bound to hosts whose certificate can be verified: name the host.`;
  }
  return port === 80 ? `${quoted} is a port without TLS. The value of a secret is sent only over TLS.` : destination;
}

const entryKeys = {
  hosts: listOf(host(), 'hosts (HOST or HOST:PORT)')
    .superRefine((list, context) => {
      if (list.length === 0) addSentence(context, 'it names no host. A secret is bound to at least one.');
    })
    .register(notes, { expects: 'a list of hosts (HOST or HOST:PORT)', quiet: true })
    .describe('Exact hosts at which the value is put in. Without a port, 443. Restricted sandboxes may reach them.'),
  env: variableName()
    .optional()
    .describe('The variable of the environment or `.env` that holds the value. Default: the name of the secret.'),
  as: variableName()
    .optional()
    .describe(
      'The variable inside that holds the placeholder; none by which programs start, such as `PATH`. Default: the name of the secret.',
    ),
  headers: listOf(header(), 'names of headers')
    .optional()
    .describe(
      `Headers in which the placeholder is replaced. Default: ${credentialHeaders.join(', ')}. A user or password of \`Authorization: Basic\` counts as that header.`,
    ),
  query: flag().default(false).describe('Also in the query of the URL.'),
  path: flag().default(false).describe('Also in the path of the URL.'),
  prefix: z
    .string()
    .regex(/^[\w.:~-]{1,32}$/)
    .register(notes, { expects: 'up to 32 letters, digits or . _ : ~ -', quiet: true })
    .optional()
    .describe(
      'What programs expect the token to begin with. Default: that of the value, when it is a well-known one such as `ghp_` or `sk-`.',
    ),
  exclusive: flag().default(false).describe('Requests to these hosts that have another credential are refused.'),
};

const entry = z
  .strictObject(entryKeys)
  .superRefine(({ headers, query, path }, context) => {
    if (headers?.length === 0 && !query && !path)
      addSentence(context, 'it is never put in: headers is empty, and neither query nor path is true.');
  })
  .register(notes, { expects: 'a map with hosts, which never holds the value', quiet: true, names: Object.keys(entryKeys) });

export const secrets = z
  .record(variableName(), entry)
  .superRefine((all, context) => {
    const owners = new Map<string, string>();
    for (const [name, { as: inside = name }] of Object.entries(all)) {
      const owner = owners.get(inside);
      if (owner !== undefined) addSentence(context, `${inside} inside the sandbox is already the variable of ${owner}.`, [name]);
      else if (ownVariables.has(inside))
        addSentence(context, `the sandbox sets ${inside} itself. Choose another variable with as.`, [name]);
      // Security: with a placeholder in it, no program would start, or one would load what the placeholder names.
      else if (decidesStart(inside)) addSentence(context, `${inside} decides how programs start. Choose another variable with as.`, [name]);
      else if (decidesStart(name)) addSentence(context, `${name} decides how programs start. Choose another name.`, [name]);
      owners.set(inside, name);
    }
  })
  .register(notes, { expects: `a map of names (${variableNameRule}) to maps with hosts`, quiet: true })
  .default({})
  .describe(
    'Secrets that never enter a sandbox, such as `{ GITHUB_TOKEN: { hosts: [api.github.com, github.com] } }`. A restricted sandbox has a placeholder in the variable, and the gateway puts the value into requests to these hosts: see [secrets](network.md#secrets).',
  );

function host() {
  return z
    .string()
    .superRefine((text, context) => {
      const flaw = parseSecretHost(text);
      if (typeof flaw === 'string') addSentence(context, flaw);
    })
    .register(notes, { expects: 'HOST or HOST:PORT' });
}

function header() {
  return z
    .string()
    .regex(/^[\w!#$%&'*+.^`|~-]+$/)
    .refine((name) => !structuralHeaders.test(name), 'it belongs to the connection or to the body')
    .register(notes, { expects: 'the name of a header that can carry a credential' });
}

function addSentence(context: z.RefinementCtx, message: string, path: string[] = []): void {
  context.addIssue({ code: 'custom', message, path, params: { isSentence: true } });
}
