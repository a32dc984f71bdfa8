import * as z from 'zod';
import { presetNames } from '../../egress/presets.ts';
import { neverDirect, parseDenyRule, parseHostRule, parsePrivateRule } from '../../egress/rules.ts';
import { choice, flag, listOf, notes, wholeNumber } from '../../lib/setting-kinds.ts';

const hostForms = 'HOST, *.HOST, HOST:PORT or HOST:*';

/** Each is a socket in every sandbox. */
const maxDirectPorts = 32;

export const network = z
  .strictObject({
    allow: listOf(entry(parseHostRule, hostForms), `hosts (${hostForms})`)
      .default([])
      .describe(
        'Hosts that a restricted sandbox reaches besides those of the presets. Without a port, 80 and 443. `*.HOST` is every name below the host, and not the host itself.',
      ),
    deny: listOf(entry(parseDenyRule, hostForms), `hosts (${hostForms})`)
      .default([])
      .describe('Hosts that a restricted sandbox never reaches; without a port, on all ports. Wins over `network.allow` and the presets.'),
    presets: listOf(choice(presetNames), `presets: ${presetNames.join(', ')}`)
      .default(['packages', 'git'])
      .describe(
        'Lists of hosts that come with Hermetic: `packages` has the usual package registries, `git` the usual hosts of repositories. `[]` is none of them.',
      ),
    private: listOf(entry(parsePrivateRule, 'a host, an address or a range'), 'hosts, addresses and ranges such as 10.1.0.0/16')
      .default([])
      .describe(
        'Hosts that may lead to private addresses, and private addresses that any allowed host may lead to. A host also needs a rule of `network.allow`. Special addresses, such as loopback and link-local ones, and those of this machine stay out of reach.',
      ),
    ask: flag()
      .default(true)
      .describe(
        'Whether people are asked about a host that no rule names, while the connection waits. With `false` it is blocked. Hosts of `network.deny` and private and special addresses are never asked about.',
      ),
    log: choice(['blocked', 'all'])
      .default('blocked')
      .describe(
        'Which connections get a record in the audit log: those that were blocked, that people allowed or that lead to hosts with a secret, or `all`.',
      ),
    direct_ports: directPorts()
      .default([22, 443])
      .describe(
        'Ports on which programs in a restricted sandbox reach allowed hosts by name, without the proxy. Ports that rules name are added, except 80. Programs inside cannot listen on these ports.',
      ),
  })
  .describe('What a sandbox reaches whose `terminal.network` is `restricted`: see [network](network.md).');

/** `parse` gives back a rule, or a sentence about what is wrong. */
function entry(parse: (text: string) => object | string, expects: string) {
  return z
    .string()
    .superRefine((text, context) => {
      const flaw = parse(text);
      if (typeof flaw === 'string') context.addIssue({ code: 'custom', message: flaw, params: { isSentence: true } });
    })
    .register(notes, { expects });
}

function directPorts() {
  const port = wholeNumber('a port', 1, 65_535)
    .refine((value) => !neverDirect.includes(value), 'the proxy or the resolver of the sandbox has it')
    .register(notes, { expects: 'a port, 1 to 65535' });
  return z
    .array(port)
    .max(maxDirectPorts)
    .register(notes, { expects: `a list of at most ${maxDirectPorts} ports` });
}
