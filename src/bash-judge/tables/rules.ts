export interface Rule {
  title: string;
  why: string;
  /** `deny`: nobody can allow it. */
  answer: 'ask' | 'deny';
  /** What a yes for the session covers: the program with its subcommand, or this exact text. */
  grant: 'program' | 'text';
}

const ask = (title: string, why: string): Rule => ({ title, why, answer: 'ask', grant: 'program' });
/** Security: with these the danger is in the text or in its paths, so a yes to one says nothing about the next. */
const askEach = (title: string, why: string): Rule => ({ title, why, answer: 'ask', grant: 'text' });
const never = (title: string, why: string): Rule => ({ title, why, answer: 'deny', grant: 'text' });

/** Every reason to ask or to refuse. `docs/approval-rules.md` is generated from this table. */
export const rules = {
  'program/unknown': ask('Runs a program that is in no table', 'Hermetic does not know what it does.'),
  'program/launcher': askEach(
    'Runs a program that may start others',
    'Hermetic does not know the program, and its words name another one.',
  ),
  'program/subcommand': ask('Uses a part of a program that is in no table', 'Hermetic does not know what it does.'),
  'program/option': askEach('Uses an option that is in no table', 'Hermetic does not know what it makes the program do.'),
  'variables/unknown': ask('Sets a variable that is in no table', 'Hermetic does not know what programs make of it.'),
  'files/delete-system': never(
    'Deletes a system or home directory',
    'It would remove the system, a home directory or everything below it.',
  ),
  'files/recursive-delete': ask('Deletes many files', 'Whole directories or groups of files go at once, and nothing brings them back.'),
  'files/shred': ask('Destroys file contents', 'The contents are overwritten, so that they cannot be recovered.'),
  'files/mirror-delete': ask('Deletes what a copy does not have', 'Files that are missing at the source are removed at the target.'),
  'files/system-write': askEach(
    'Changes system files',
    'Files outside the project that the machine depends on are written, moved or removed.',
  ),
  'files/outside': askEach('Leaves the workspace', "It writes, runs or works outside the session's workspace."),
  'files/delete-workspace': askEach('Deletes the whole workspace', 'Everything the session has made would be gone.'),
  'disk/raw-write': never('Writes to a raw disk', 'Bytes written past the file system destroy it.'),
  'disk/format': never('Formats a disk', 'Everything on the disk would be lost.'),
  'disk/change': ask('Changes disks or mounts', 'Partitions, volumes or mounts of the machine are changed.'),
  'permissions/world-writable': askEach('Lets everybody write', 'Every user of the machine could change these files.'),
  'permissions/privileged-file': askEach(
    'Gives a file special rights',
    'Everyone who runs the file gets the rights of its owner, or the file escapes the usual permissions.',
  ),
  'permissions/recursive': askEach(
    'Changes owners or modes of whole trees',
    'A wrong owner or mode on a tree like this locks people and programs out.',
  ),
  'services/change': ask('Changes a service', 'A service of this machine is started, stopped or configured anew.'),
  'system/shutdown': never('Stops the machine', 'The machine would go down, restart or sleep.'),
  'system/kill-all': never('Ends every process', 'A signal goes to everything this user may signal.'),
  'system/fork-bomb': never('Starts processes without end', 'A function that starts itself over and over takes the machine down.'),
  'system/settings': ask('Changes the kernel or system settings', 'Settings that hold for the whole machine are changed.'),
  'system/erase-traces': ask('Removes logs or history', 'Records of what happened are deleted or switched off.'),
  'process/kill-by-name': ask(
    'Ends processes by force or by a broad name',
    'More processes than meant may end, also ones that this agent did not start.',
  ),
  'process/foreign': askEach('Signals a process by its number', 'Hermetic does not know that this session started the process.'),
  'process/many': askEach('Starts processes in a loop', 'Nothing says how many of them there will be.'),
  'accounts/change': ask('Changes accounts', 'Users, groups, passwords or their rights are changed.'),
  'accounts/root-shell': askEach('Opens a shell with other rights', 'What runs in that shell is not seen by anybody before it runs.'),
  'accounts/password-input': ask('Hands sudo a password', 'The password comes from a pipe or a program instead of a person.'),
  'packages/remove': ask('Removes packages', 'Other programs may depend on what is removed.'),
  'packages/install': ask('Installs from elsewhere', 'The package changes the machine, or does not come from the registry by its name.'),
  'packages/publish': ask('Publishes a package', 'What is published is visible to others and can hardly be taken back.'),
  'git/discard': ask('Throws away uncommitted work', 'Changes that are in no commit are lost.'),
  'git/skip-checks': ask('Skips the checks of the repository', 'Hooks that its owner set up do not run.'),
  'git/rewrite-history': ask('Rewrites or deletes history', 'Commits, branches or tags that others may rely on are replaced or removed.'),
  'database/destroy': ask('Deletes data in a database', 'Tables, databases or rows without a condition are deleted or changed.'),
  'infrastructure/change': ask('Changes infrastructure', 'Machines, clusters or stored data elsewhere are changed or deleted.'),
  'infrastructure/access': ask(
    'Changes who may reach infrastructure',
    'Access keys, roles, policies or network rules of a cloud are changed.',
  ),
  'containers/privileged': ask(
    'Starts a container with rights on the host',
    'The container can reach the files, devices or processes of the host.',
  ),
  'containers/stop': ask('Stops or removes containers', 'Running services stop, or containers, images or volumes are deleted.'),
  'network/pipe-to-interpreter': askEach('Runs code straight from the network', 'What the server answers is run, unseen.'),
  'network/download-then-run': askEach('Runs a file it just downloaded', 'The file is run before a person could look at it.'),
  'network/remote-shell': askEach('Connects a shell to the network', 'Another machine could run commands on this one.'),
  'network/expose': ask('Opens this machine to others', 'A port, tunnel or share lets others reach this machine.'),
  'network/send-file': askEach('Sends a file elsewhere', 'The contents of a file leave this machine.'),
  'network/upload': askEach('Sends data elsewhere', 'What it sends is only known when it runs.'),
  'network/remote': askEach('Reaches another machine', 'It is not a plain request to a public address.'),
  'network/firewall': ask('Changes the firewall or network', 'What may come in or go out is changed, which can also lock people out.'),
  'credentials/read': askEach('Reads credentials', 'Keys, passwords or tokens would be seen by the agent or go elsewhere.'),
  'credentials/environment': askEach('Prints the whole environment', 'The environment often holds tokens and passwords.'),
  'credentials/variable': askEach(
    'Uses a secret from the environment',
    'The value of a variable that looks like a secret is printed or handed on.',
  ),
  'credentials/store': askEach('Asks a secret store', 'A stored password, key or token is printed.'),
  'credentials/write': askEach('Changes credentials', 'A file that decides who may log in where is written or removed.'),
  'persistence/schedule': askEach('Changes scheduled jobs', 'Jobs that run later, without a person watching, are added or removed.'),
  'persistence/startup': askEach('Changes what runs at login or start', 'Code placed there runs later, without a person watching.'),
  'persistence/remote-login': askEach('Changes who may log in from elsewhere', 'A key or setting of SSH opens this account to others.'),
  'persistence/git': askEach('Lets git run other programs', 'Hooks and such settings run code at the next git command.'),
  'code/inline': askEach('Runs inline code', 'The code on the command line does more than compute and print.'),
  'code/unseen': askEach('Runs code that cannot be seen', 'What would run is only known once it runs.'),
  'code/injected': askEach('Loads code into other programs', 'A variable makes programs load or run something else.'),
  'script/run': askEach('Runs a script', 'Every script that runs on this machine itself is shown to a person first.'),
  'shell/unparseable': askEach('Cannot be understood', 'The text is not a complete bash command, so what it does is not known.'),
  'shell/too-complex': askEach('Too long or tangled to judge', 'Looking at every possibility would take too long.'),
  'shell/unresolved-command': askEach('Runs a program that is not known yet', 'Which program runs is only decided when it runs.'),
  'shell/unresolved-argument': askEach(
    'Acts on something that is not known yet',
    'What a dangerous program is applied to is only decided when it runs.',
  ),
  'shell/hidden-characters': askEach(
    'Holds invisible characters',
    'Characters that do not show can make the command look like another one.',
  ),
  'hermetic/control': never(
    'Controls Hermetic itself',
    'The agent may not change or answer the settings, approvals or pairing that govern it.',
  ),
  'hermetic/files': never("Changes Hermetic's own files", 'The agent may not change the files that govern it.'),
  'hermetic/process': never('Ends Hermetic itself', 'The agent may not stop the program that governs it.'),
  'hermetic/read': askEach("Reads Hermetic's own files", 'They hold tokens, conversations and who may do what.'),
  'hermetic/start': askEach('Starts Hermetic', 'Hermetic would run commands of its own, or under other settings.'),
} as const satisfies Record<string, Rule>;

export type RuleId = keyof typeof rules;
