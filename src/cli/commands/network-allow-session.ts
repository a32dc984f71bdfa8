import { findNetworkFacts } from '../../app/status/network-status.ts';
import { giveHosts, hostGrants } from '../../approval/host-grants.ts';
import { unlistedHost } from '../../approval/unlisted-hosts.ts';
import { type Destination, destinationText, type HostRule } from '../../core/egress.ts';
import { HermeticError } from '../../core/errors.ts';
import { everyone, type GrantEntry, type QuestionEntry } from '../../core/store.ts';
import { hermetic } from '../../lib/own-command.ts';
import { minuteText, shortText } from '../grant-text.ts';
import { isAskedAbout } from '../host-argument.ts';
import type { CliIo } from '../io.ts';
import { backendFor, findSession } from '../known-sessions.ts';
import { networkVerdict } from '../network-verdict.ts';
import { personHere } from '../person.ts';
import { withApp } from '../with-app.ts';

/** Gives grants for everyone in a session: one for each port of the rule. */
export async function allowInSession(io: CliIo, rule: HostRule, name: string, lastingMs: number | undefined): Promise<void> {
  const destinations = destinationsOf(rule);
  await withApp(io, async (app) => {
    const session = await findSession(app, name);
    const { config } = app.loaded;
    const wanted: Destination[] = [];
    for (const destination of destinations) {
      const verdict = await networkVerdict(config, destination);
      const by = `${verdict.rule} (${verdict.source})`;
      if (verdict.reason === 'denied') {
        throw new HermeticError('approval/denied', `${destinationText(destination)} is denied by ${by}, which wins over grants.`, {
          hint: `${hermetic} network forget ${verdict.rule}`,
        });
      }
      if (verdict.verdict === 'allowed') io.stdout.write(`${destinationText(destination)} is allowed by ${by} already\n`);
      else wanted.push(destination);
    }
    if (wanted.length === 0) return;

    const backend = await backendFor(app, session);
    const { grants, approvals } = await app.store();
    const at = new Date();
    const expiresAt = lastingMs === undefined ? undefined : new Date(at.getTime() + lastingMs);
    const isLonger = ({ expiresAt: end }: GrantEntry): boolean => end === undefined || (expiresAt !== undefined && end >= expiresAt);
    const given = (await hostGrants(grants, at)).filter(
      ({ grant }) => grant.person === everyone && grant.backend === backend.kind && isSame(grant.parts, session.parts) && isLonger(grant),
    );
    const isGiven = (one: Destination): boolean => given.some(({ host, port }) => host === one.host && port === one.port);
    const missing = wanted.filter((one) => !isGiven(one));
    const where = `in the session ${JSON.stringify(shortText(session.title))}`;
    for (const one of wanted.filter(isGiven)) io.stdout.write(`${destinationText(one)} is allowed ${where} already\n`);
    if (missing.length > 0) {
      await giveHosts(grants, { destinations: missing, session, backend: backend.kind, by: personHere(), from: 'shell', at, expiresAt });
      const until = expiresAt === undefined ? 'until the session ends' : `until ${minuteText(expiresAt)} UTC, or the session ends before`;
      const hosts = missing.map(destinationText).join(' and ');
      io.stdout.write(`${hosts} ${missing.length === 1 ? 'is' : 'are'} allowed ${where}, for everyone there, ${until}\n`);
    }

    const { network } = await findNetworkFacts(app.loaded, session.audience, backend);
    if (network !== 'restricted') {
      io.stderr.write(
        `note: the network of such sessions is ${network ?? 'not available'}, and not restricted: see ${hermetic} network list\n`,
      );
    }
    for (const { code } of (await approvals.list({ state: 'open', session: session.parts })).filter(isAbout(wanted))) {
      io.stderr.write(`note: a question about it is pending, and still needs its own answer: ${hermetic} approvals approve ${code}\n`);
    }
  });
}

/** Security: a grant is for exact hosts and ports, and only for what people would be asked about. */
function destinationsOf({ host, isWildcard, ports }: HostRule): Destination[] {
  if (isWildcard || ports === 'all') {
    throw new HermeticError('usage/bad-argument', 'A grant is for one exact host and port.', {
      hint: 'Name the host, or leave --session out to add a rule to network.allow.',
    });
  }
  const destinations = ports.map((port) => ({ host, port }));
  if (destinations.every(isAskedAbout)) return destinations;
  throw new HermeticError('usage/bad-argument', `${host} is never asked about, so a grant for it has no effect.`, {
    hint: 'A private address needs rules: network.allow and network.private in config.yaml.',
  });
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isAbout(destinations: readonly Destination[]): (question: QuestionEntry) => boolean {
  const wanted = destinations.map(unlistedHost);
  return ({ findings }) => findings.some(({ rule, program }) => wanted.some((one) => one.rule === rule && one.program === program));
}
