import type { HostGrant } from '../../approval/host-grants.ts';
import type { TurnFacts } from '../../core/agent.ts';
import { destinationText } from '../../core/egress.ts';
import { everyone, type QuestionEntry } from '../../core/store.ts';
import { hermetic } from '../../lib/own-command.ts';
import { printable } from '../../lib/printable.ts';
import { hostsIn } from '../questions/host-answers.ts';

/** What a session reaches, for one person. */
export interface SessionNetwork {
  /** Security: what the agent is told, and no more. */
  facts: TurnFacts['sandbox'];
  grants: readonly HostGrant[];
  questions: readonly Pick<QuestionEntry, 'code' | 'findings'>[];
  isAdmin: boolean;
  isDirect: boolean;
  parts: readonly string[];
}

/** One fact a line. */
export function networkLines({ facts, grants, questions, isAdmin, isDirect, parts }: SessionNetwork): string[] {
  if (!facts) return ['No sandbox backend works here, so nothing is reached.'];
  const { network, networkObstacle, networkHosts = [], networkAsks, secrets = [], backend } = facts;
  if (network === 'none') return [`Network: none${networkObstacle === undefined ? '' : ` (${networkObstacle})`}.`];
  if (network === 'open') return ['Network: open. Programs reach everything that the machine of the gateway reaches.'];
  const counting = grants.filter(({ grant }) => grant.backend === backend);
  // Security: in a group, hosts of other sessions are not for all to read.
  const shown = counting.filter(({ grant }) => isDirect || JSON.stringify(grant.parts) === JSON.stringify(parts));
  const hidden = counting.length - shown.length;
  const pending = questions.flatMap((question) => hostsIn(question).map((host) => ({ host, code: question.code })));
  return [
    `Network: restricted. Allowed: ${networkHosts.map(hostText).join(', ') || 'nothing'}. Others are ${networkAsks ? 'asked about' : 'blocked'}.`,
    ...secrets.map(({ variable, hosts }) => `Secret \`${variable}\`: a placeholder, for ${hosts.map(code).join(', ')}`),
    ...shown.map(grantLine),
    ...(hidden > 0 ? [`${hidden} more that you allowed in other sessions: ask me in a direct chat.`] : []),
    ...pending.map(({ host, code: id }) => `Pending question \`${id}\`: ${code(host)}. Answer with /approve ${id} or /deny ${id}.`),
    ...(shown.length + hidden > 0 ? ['Take an answer back with /network forget HOST[:PORT].'] : []),
    ...(isAdmin ? [`Rules for all sessions: \`${hermetic} network allow\`, \`deny\` and \`forget\` on the machine of the gateway.`] : []),
  ];
}

function grantLine(one: HostGrant): string {
  const { scope, person, grantedBy, expiresAt } = one.grant;
  const where = scope === 'always' ? 'in all sessions' : 'in this session';
  const until = expiresAt === undefined ? '' : `, until ${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const who = person === everyone ? 'everyone' : code(person ?? 'the owner');
  return `Allowed by ${code(grantedBy)}: ${code(destinationText(one))} ${where}, for ${who}${until}`;
}

/** Entries of `network.allow` are code, words for presets are not. */
function hostText(text: string): string {
  return text.includes(' ') ? text : code(text);
}

function code(text: string): string {
  return `\`${printable(text).replaceAll('`', "'")}\``;
}
