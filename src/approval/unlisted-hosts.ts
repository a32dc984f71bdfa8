import type { ConnectAction, Finding, Verdict } from '../core/approval.ts';
import { type Destination, destinationText } from '../core/egress.ts';

/** The rule of the finding that asks about a host. A grant for it is bound to the host and port, as its program. */
export const unlistedHostRule = 'network/unlisted-host';

/** Security: no program, mode or model lets a host pass that no rule of the network names; a person does, or a grant of one. */
export function verdictOnConnections({ connections }: ConnectAction): Verdict {
  return { kind: 'ask', findings: connections.map(unlistedHost) };
}

export function unlistedHost(destination: Destination): Finding {
  return {
    rule: unlistedHostRule,
    title: 'A host that no rule of the network names',
    why: 'It would also be able to receive what is in the sandbox.',
    program: destinationText(destination),
    byProgram: true,
  };
}
