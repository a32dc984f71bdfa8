/**
 * What a sandbox that is disposable changes about a finding, when files of the host can be written in it:
 * `machine` concerns only the sandbox, `paths` counts for the files of the host, `anything` could be about them.
 */
type Reach = 'machine' | 'paths' | 'anything';

export interface Rule {
  title: string;
  why: string;
  /** Nobody can allow it. */
  hard: boolean;
  reach: Reach;
}

const ask = (title: string, why: string, reach: Reach = 'machine'): Rule => ({ title, why, hard: false, reach });
const never = (title: string, why: string): Rule => ({ title, why, hard: true, reach: 'anything' });

/** Every reason to ask or to refuse. `docs/approval-rules.md` is generated from this table. */
export const rules = {
  'files/delete-system': never(
    'Deletes a system or home directory',
    'It would remove the system, a home directory or everything below it.',
  ),
  'files/recursive-delete': ask(
    'Deletes many files',
    'Whole directories or groups of files go at once, and nothing brings them back.',
    'paths',
  ),
  'files/shred': ask('Destroys file contents', 'The contents are overwritten, so that they cannot be recovered.', 'paths'),
  'files/mirror-delete': ask(
    'Deletes what a copy does not have',
    'Files that are missing at the source are removed at the target.',
    'paths',
  ),
  'files/system-write': ask(
    'Changes system files',
    'Files outside the project that the machine depends on are written, moved or removed.',
    'paths',
  ),
  'disk/raw-write': never('Writes to a raw disk', 'Bytes written past the file system destroy it.'),
  'disk/format': never('Formats a disk', 'Everything on the disk would be lost.'),
  'disk/change': ask('Changes disks or mounts', 'Partitions, volumes or mounts of the machine are changed.'),
  'permissions/world-writable': ask('Lets everybody write', 'Every user of the machine could change these files.', 'paths'),
  'permissions/privileged-file': ask(
    'Gives a file special rights',
    'Whoever runs the file gets rights of its owner, or the file escapes the usual permissions.',
    'paths',
  ),
  'permissions/recursive': ask(
    'Changes owners or modes of whole trees',
    'A wrong owner or mode on a tree like this locks people and programs out.',
    'paths',
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
  'accounts/change': ask('Changes accounts', 'Users, groups, passwords or their rights are changed.'),
  'accounts/root-shell': ask(
    'Opens a shell with other rights',
    'What runs in that shell is not seen by anybody before it runs.',
    'anything',
  ),
  'accounts/password-input': ask('Hands sudo a password', 'The password comes from a pipe or a program instead of a person.'),
  'packages/remove': ask('Removes packages', 'Other programs may depend on what is removed.'),
  'packages/publish': ask('Publishes a package', 'What is published is visible to others and can hardly be taken back.'),
  'git/discard': ask('Throws away uncommitted work', 'Changes that are in no commit are lost.', 'paths'),
  'git/rewrite-history': ask(
    'Rewrites or deletes history',
    'Commits, branches or tags that others may rely on are replaced or removed.',
    'paths',
  ),
  'database/destroy': ask('Deletes data in a database', 'Tables, databases or rows without a condition are deleted or changed.'),
  'infrastructure/change': ask('Changes infrastructure', 'Machines, clusters or stored data elsewhere are changed or deleted.'),
  'infrastructure/access': ask(
    'Changes who may reach infrastructure',
    'Access keys, roles, policies or network rules of a cloud are changed.',
  ),
  'containers/privileged': ask(
    'Starts a container with rights on the host',
    'The container can reach the files, devices or processes of the host.',
    'anything',
  ),
  'containers/stop': ask('Stops or removes containers', 'Running services stop, or containers, images or volumes are deleted.'),
  'network/pipe-to-interpreter': ask('Runs code straight from the network', 'Whatever the server answers is run, unseen.', 'anything'),
  'network/download-then-run': ask(
    'Runs a file it just downloaded',
    'Nobody looked at the file between its download and its start.',
    'anything',
  ),
  'network/remote-shell': ask('Connects a shell to the network', 'Somebody elsewhere could run commands on this machine.', 'anything'),
  'network/expose': ask('Opens this machine to others', 'A port, tunnel or share lets others reach this machine.'),
  'network/send-file': ask('Sends a file elsewhere', 'The contents of a file leave this machine.', 'paths'),
  'network/firewall': ask('Changes the firewall or network', 'What may come in or go out is changed, which can also lock people out.'),
  'credentials/read': ask('Reads credentials', 'Keys, passwords or tokens would be seen by the agent or go elsewhere.', 'paths'),
  'credentials/environment': ask('Prints the whole environment', 'The environment often holds tokens and passwords.'),
  'credentials/variable': ask(
    'Uses a secret from the environment',
    'The value of a variable that looks like a secret is printed or handed on.',
  ),
  'credentials/store': ask('Asks a secret store', 'A stored password, key or token is printed.'),
  'credentials/write': ask('Changes credentials', 'A file that decides who may log in where is written or removed.', 'paths'),
  'persistence/schedule': ask('Changes scheduled jobs', 'Jobs that run later, with nobody watching, are added or removed.', 'paths'),
  'persistence/startup': ask('Changes what runs at login or start', 'Code placed there runs later, with nobody watching.', 'paths'),
  'persistence/remote-login': ask(
    'Changes who may log in from elsewhere',
    'A key or setting of SSH opens this account to others.',
    'paths',
  ),
  'persistence/git': ask('Lets git run other programs', 'Hooks and such settings run code at the next git command.', 'paths'),
  'code/inline': ask('Runs inline code', 'The code on the command line does more than compute and print.', 'anything'),
  'code/unseen': ask('Runs code that cannot be seen', 'What would run is only known once it runs.', 'anything'),
  'code/injected': ask('Loads code into other programs', 'A variable makes programs load or run something else.', 'anything'),
  'script/run': ask('Runs a script', 'Every script that runs on this machine itself is shown to a person first.', 'anything'),
  'shell/unparseable': ask('Cannot be understood', 'The text is no complete bash command, so nobody can say what it does.', 'anything'),
  'shell/too-complex': ask('Too long or tangled to judge', 'Looking at every possibility would take too long.', 'anything'),
  'shell/unresolved-command': ask('Runs a program that is not known yet', 'Which program runs is only decided when it runs.', 'anything'),
  'shell/unresolved-argument': ask(
    'Acts on something that is not known yet',
    'What a dangerous program is applied to is only decided when it runs.',
    'anything',
  ),
  'shell/hidden-characters': ask(
    'Holds invisible characters',
    'Characters that do not show can make the command look like another one.',
    'anything',
  ),
  'hermetic/control': never(
    'Controls Hermetic itself',
    'The agent may not change or answer the settings, approvals or pairing that govern it.',
  ),
  'hermetic/files': never("Changes Hermetic's own files", 'The agent may not change the files that govern it.'),
  'hermetic/process': never('Ends Hermetic itself', 'The agent may not stop the program that governs it.'),
  'hermetic/read': ask("Reads Hermetic's own files", 'They hold tokens, conversations and who may do what.', 'paths'),
  'hermetic/start': ask('Starts Hermetic', 'Hermetic would run commands of its own, or under other settings.', 'anything'),
} as const satisfies Record<string, Rule>;

export type RuleId = keyof typeof rules;
