import * as z from 'zod';
import { proxyPort } from '../../egress/environment.ts';
import { choice, listOf, notes, wholeNumber, word } from '../../lib/setting-kinds.ts';

const presetNames = ['packages', 'git'] as const;

/** Each is a socket in every sandbox. */
const maxDirectPorts = 32;

export const network = z
  .strictObject({
    allow: listOf(word('a host'), 'hosts: host, *.host, host:port or host:*')
      .default([])
      .describe(
        'Hosts that a restricted sandbox reaches besides those of the presets. Without a port, a rule means 80 and 443. `*.host` is every name below the host, and not the host itself.',
      ),
    deny: listOf(word('a host'), 'hosts: host, *.host, host:port or host:*')
      .default([])
      .describe('Hosts that a restricted sandbox never reaches. Wins over `network.allow` and the presets.'),
    presets: listOf(choice(presetNames), `presets: ${presetNames.join(', ')}`)
      .default(['packages', 'git'])
      .describe(
        'Lists of hosts that come with Hermetic: `packages` has the usual package registries, `git` the usual hosts of repositories. `[]` is none of them.',
      ),
    private: listOf(word('a host, an address or a network'), 'hosts, addresses and networks such as 10.1.0.0/16')
      .default([])
      .describe(
        'Private addresses that an allowed host may lead to. Loopback, link-local and this machine’s own addresses stay out of reach.',
      ),
    direct_ports: directPorts()
      .default([22, 443])
      .describe(
        'Ports on which programs in a restricted sandbox reach allowed hosts by name, without the proxy. Ports that exact rules name are added. Programs inside cannot listen on these ports.',
      ),
  })
  .describe('What a sandbox reaches whose `terminal.network` is `restricted`: see [network](network.md).');

function directPorts() {
  const port = wholeNumber('a port', 1, 65_535)
    .refine((value) => value !== proxyPort, `${proxyPort} is the port of the proxy`)
    .register(notes, { expects: 'a port, 1 to 65535' });
  return z
    .array(port)
    .max(maxDirectPorts)
    .register(notes, { expects: `a list of at most ${maxDirectPorts} ports` });
}
