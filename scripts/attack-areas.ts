/** The attacked areas. Adding one is one entry; `npm run attacks` counts, and writes the table of docs/threat-model.md. */
export interface Area {
  area: string;
  /** What was tried, in a sentence without its full stop. */
  tried: string;
  /** Files with tests, as patterns. */
  tests?: readonly string[];
  /** Files with a probe in every line. */
  corpora?: readonly string[];
  /** Weaknesses the attacks found, fixed since. */
  mended: string;
}

export const areas: readonly Area[] = [
  {
    area: 'Commands on the host',
    tried: 'harmful commands in every disguise, and ways around the judge, on a backend that does not isolate',
    tests: ['test/bash-judge/{actions,conversations,host-paths,properties,thread}.test.ts'],
    corpora: ['test/bash-judge/dangerous.txt', 'test/bash-judge/ways-out.txt'],
    mended: 'a list of bad commands let unknown programs, launchers and options pass; one word could freeze the gateway',
  },
  {
    area: "A session's own processes",
    tried:
      'commands of a session on the host that change Hermetic itself: from its process tree in every disguise, over the page, MCP and the terminal chat',
    tests: ['test/app/session-process.test.ts', 'test/app/session-peers.test.ts', 'test/cli/{session-guard,session-peers}.test.ts'],
    mended: 'an agent on `local` could answer its own question through the command line',
  },
  {
    area: 'Owners of files',
    tried: 'a home, settings and secrets that belong to another user, or that others could replace',
    tests: ['test/config/owners.test.ts', 'test/set-up.test.ts'],
    mended: 'they were read; the Node binary ran without a check of its hash',
  },
  {
    area: 'Messages that cannot be handled',
    tried: 'updates and stored messages that fail or end the gateway each time',
    tests: ['test/gateway/set-aside.test.ts', 'test/channels/telegram/set-aside.test.ts'],
    mended: 'they were retried forever and held up later messages',
  },
  {
    area: 'Code in a sandbox',
    tried: "killing, forking, filling and forging the host's input: pipes, records, state, files, limits, system calls",
    tests: [
      'test/backends/attacks/{control,disk,pipes,processes,reading,states,streams,trees}.ts',
      'test/backends/bubblewrap/{isolation,seccomp}.test.ts',
      'test/backends/docker/hardening.test.ts',
      'test/backends/singularity/attacks.test.ts',
      'test/shell/hostile-state.test.ts',
      'test/sandboxes/mounts.test.ts',
    ],
    mended:
      'a process with another mark outlived its kill; deleted and empty files evaded the disk limit; a filled control pipe refused every command; socketpair passed for other families',
  },
  {
    area: 'The proof of containment',
    tried: 'sandboxes that lie about their containment',
    tests: ['test/proof/proof.test.ts', 'test/proof/*.test.ts'],
    mended: 'nothing in the proof itself',
  },
  {
    area: 'Shells reached by streams',
    tried: 'forged, damaged and endless frames, single bytes, output after death',
    tests: ['test/attacks/streams.test.ts', 'test/backends/attacks/frames.ts', 'test/shell/{frame-splitter,stream-records}.test.ts'],
    mended: 'a frame that arrived byte by byte was searched again for every byte; each byte of early output was kept as an object',
  },
  {
    area: 'A Kubernetes API server',
    tried: 'answers, events and streams without end, lies, redirects, silence, and connections cut at every step of opening a sandbox',
    tests: ['test/backends/kubernetes/{hostile-server,credentials}.test.ts'],
    mended: 'a credential plugin that printed without end held up everything while a process it had started kept its streams open',
  },
  {
    area: 'Providers of sandboxes and their servers',
    tried:
      'refusals of every kind, pages of proxies, silence, lost answers and cut connections, lists of sandboxes of others, ends of a sandbox at the worst moment',
    tests: [
      'test/backends/modal/{hostile-server,provider,clocks,pulse,backend}.test.ts',
      'test/backends/{daytona,vercel}/*.test.ts',
      'test/backends/cloud/*.test.ts',
    ],
    mended: 'a sandbox whose making was given up could be made afterwards; a program that died left its commands running',
  },
  {
    area: 'Tools and their results',
    tried: 'answers of a hostile sandbox to file tools and scripts, floods in single bytes, secrets in every encoding',
    tests: [
      'test/tools/*hostile*.test.ts',
      'test/tools/execute-code-frames.test.ts',
      'test/lib/{redact,small-pieces,terminal-text}.test.ts',
    ],
    mended: 'memory grew with the number of pieces; secrets passed in base64 with a user name and in partial percent encoding',
  },
  {
    area: 'IPv6',
    tried: 'other spellings of this machine as name, origin, address to listen on and client; ways out of a sandbox over IPv6',
    tests: ['test/attacks/ipv6*.test.ts'],
    mended:
      'a client with an IPv6 network had as many tries as addresses; a network of sandboxes could have IPv6; the proof did not look for this machine over it',
  },
  {
    area: 'The page and MCP',
    tried: 'requests without and with forged tokens and cookies, from other pages and host names, too many of them',
    tests: ['test/http/access.test.ts', 'test/mcp/http.test.ts'],
    mended: "a short MCP token was accepted; other users could use up the owner's request rate",
  },
  {
    area: 'Messages of a platform',
    tried: 'malformed, huge and misleading updates, names, files and markup',
    tests: ['test/contracts/channel-hostile.ts', 'test/channels/*/{parse,format,webhook}.test.ts', 'test/lib/{plain-name,visible}.test.ts'],
    mended: 'a long answer of markup stalled the page and the gateway; some invisible characters were not shown in questions',
  },
  {
    area: 'People in a group',
    tried: "strangers who speak, command, answer questions and press buttons; people with another person's name",
    tests: ['test/attacks/people.test.ts', 'test/gateway/{people,approvers}.test.ts'],
    mended: 'two people with one name were one person to the model; a command with a NUL in it was put to people',
  },
  {
    area: 'Questions and grants',
    tried: 'answers given twice, by others, too late, after a restart; grants stretched to other actions',
    tests: [
      'test/approval/{guard,grants,questions,question-processes}.test.ts',
      'test/gateway/{questions,question-ends,number-answers}.test.ts',
    ],
    mended: "an admin's yolo applied to everyone in a shared thread; a question could hide the end of a command",
  },
  {
    area: 'The reviewing model',
    tried: 'answers that only look like a yes; commands that address the reviewer; rules that are for people',
    tests: ['test/attacks/reviewer.test.ts', 'test/agent/review.test.ts', 'test/approval/reviewer.test.ts'],
    mended: 'spaces within the words of a yes were ignored; a command could contain the words of a verdict',
  },
  {
    area: 'Transcript and compaction',
    tried: 'tool output that passes for words of a person in a summary; text that a provider refuses in every later turn',
    tests: ['test/attacks/transcript.test.ts'],
    mended:
      'results could pass for words of people; a summary could be empty; a NUL, half a character or a bad tool name broke a session for good',
  },
  {
    area: 'The state database',
    tried: 'triggers, views, missing and computed columns, false versions, links and pipes in its place, no room for a migration',
    tests: ['test/attacks/migrations.test.ts', 'test/stores/sqlite-versions.test.ts'],
    mended:
      'triggers and views were accepted; a missing column showed as a failed query; a pipe or link in its place was opened and its mode changed',
  },
  {
    area: 'A gateway that is not root',
    tried:
      'another user who reads, signals, connects and writes to files of the gateway; a user without a name; rights of processes inside',
    tests: ['test/attacks/not-root.test.ts'],
    mended: 'a user without an entry in /etc/passwd could not use `local`, and the error said that bash is missing',
  },
  {
    area: 'The audit log',
    tried: 'records changed, removed, reordered and added, in the database and in archives',
    tests: ['test/audit/*.test.ts'],
    mended: 'nothing',
  },
  {
    area: 'A disk that is full or fails',
    tried: 'no room when a message arrives, in the middle of a turn, for configuration and secrets; a disk that accepts no writes',
    tests: ['test/attacks/full-disk.test.ts', 'test/gateway/failing-disk.test.ts'],
    mended: 'a turn that could not be recorded was not reported until the next start',
  },
  {
    area: 'The restricted network, from inside',
    tried:
      'every way out of a sandbox at once against a small internet that records what arrives: addresses, name servers, proxies, other spellings, names that lead to the machine or to private networks, TLS with another name, requests that two readers understand in two ways, crowds, removed rules, killed gateways',
    tests: [
      'test/world/{escapes,destinations,malformed,gateway,kills}.test.ts',
      'test/egress/{addresses,client-hello,connection-limits,host-name,names,proxy-attacks,proxy-fuzz,spellings}.test.ts',
      'test/backends/bubblewrap/restricted-network.test.ts',
      'test/backends/docker/restricted.test.ts',
    ],
    mended: 'nothing',
  },
  {
    area: 'Secrets that are bound to hosts',
    tried:
      'placeholders at other hosts, ports, headers and bodies, redirects, hosts without a valid certificate, other credentials, hosts that say the value in every form, and a search for values in sandboxes, processes, containers, files, logs and the memory of the helper',
    tests: ['test/world/{secret-attacks,secrets-live}.test.ts', 'test/egress/{inject,intercept,scrubber,asked-secrets}.test.ts'],
    mended: 'nothing',
  },
  {
    area: 'Questions about hosts',
    tried:
      'crowds of hosts and of clients that leave, names that look like others, commands that look like questions, answers of other people, twice, too late and to a killed gateway, grants stretched to other commands, people, sessions, ports and addresses',
    tests: [
      'test/world/{asking,asking-attacks,asking-destinations,question-attacks,questions}.test.ts',
      'test/approval/connection-questions.test.ts',
      'test/egress/{asking,held-requests}.test.ts',
    ],
    mended: 'a hostile sandbox could cause questions, look-ups and notes without a limit',
  },
];
