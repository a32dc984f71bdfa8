import { each, type Programs } from './program.ts';

const help = '--help --version';

/** What starts the program that stands behind it. */
const plain: Programs = {
  // `-C` changes the directory that the paths of the command are seen from. Alone it prints the whole environment.
  ...each('env genv', {
    options: `${help} -i0v -u:text --unset:text --ignore-environment --null --debug --block-signal:text? --default-signal:text?
      --ignore-signal:text? --list-signal-handling -S:shell!code/unseen --split-string:shell!code/unseen -C:directory!files/outside
      --chdir:directory!files/outside`,
    operands: 'variable* command?',
    asksAlone: 'credentials/environment',
    operandsWith: { '--help': '', '--version': '' },
    optionsFirst: true,
  }),
  ...each('timeout gtimeout', {
    options: `${help} -fpv -k:text --kill-after:text -s:text --signal:text --foreground --preserve-status --verbose`,
    operands: 'text command',
    operandsWith: { '--help': '', '--version': '' },
    optionsFirst: true,
  }),
  nice: {
    options: `${help} -n:text --adjustment:text -#`,
    operands: 'command',
    operandsWith: { '--help': '', '--version': '' },
    optionsFirst: true,
  },
  ionice: {
    options: '--help --version -t -c:text --class:text -n:text --classdata:text --ignore',
    operands: 'command',
    operandsWith: { '--help': '', '--version': '' },
    optionsFirst: true,
  },
  ...each('nohup gnohup', { options: help, operands: 'command', operandsWith: { '--help': '', '--version': '' }, optionsFirst: true }),
  setsid: { options: `${help} -cfwVh --ctty --fork --wait`, operands: 'command', optionsFirst: true },
  ...each('stdbuf gstdbuf', {
    options: `${help} -i:text --input:text -o:text --output:text -e:text --error:text`,
    operands: 'command',
    optionsFirst: true,
  }),
  ...each('time gtime', {
    options: `${help} -pvqVahl -f:text --format:text -o:write --output:write --append --verbose --portability --quiet`,
    operands: 'command',
    optionsFirst: true,
  }),
  taskset: { options: '-ac -h -V --all-tasks --cpu-list --help --version', operands: 'text command', optionsFirst: true },
  chrt: { options: '-bfiormRv -m --max --idle --batch --other --fifo --rr --help --version', operands: 'text command', optionsFirst: true },
  numactl: {
    options: `-H -s --hardware --show -i:text --interleave:text -N:text --cpunodebind:text -C:text --physcpubind:text -m:text
      --membind:text -l --localalloc`,
    operands: 'command',
    optionsFirst: true,
  },
  ...each('unbuffer chronic fakeroot', { options: '-p', operands: 'command', optionsFirst: true }),
  caffeinate: { options: '-dimsu -t:text', operands: 'command', optionsFirst: true },
  'xvfb-run': { options: '-ah -l -n:text --auto-servernum --server-num:text --help', operands: 'command', optionsFirst: true },
  'systemd-inhibit': {
    options: '--what:text --who:text --why:text --mode:text --list --no-pager',
    operands: 'command',
    optionsFirst: true,
  },
  flock: {
    options: `${help} -nxseuoFvhV --nonblock --nb --exclusive --shared --unlock --close --no-fork --verbose -w:text --wait:text
      --timeout:text -E:text --conflict-exit-code:text`,
    operands: 'write command',
    optionsFirst: true,
  },
  // Another placeholder than `{}` could stand in any word that was looked at; `-a` reads the words from a file.
  ...each('xargs', {
    options: `${help} -0rtpxo -I:text -d:text --delimiter:text -E:text -L:text --max-lines:text? -n:text --max-args:text -P:text
      --max-procs:text -s:text --max-chars:text -R:text -S:text --null --no-run-if-empty --verbose --interactive --exit --open-tty
      --show-limits`,
    operands: 'command',
    operandsWith: { '--help': '', '--version': '', '--show-limits': '' },
    optionsFirst: true,
  }),
  // Several words are put together and run by a shell.
  watch: {
    options: `${help} -bcCegrtwxhv -d:text? --differences:text? -n:text --interval:text -q:text --equexit:text --beep --color --no-color
      --errexit --chgexit --no-rerun --no-title --no-wrap --precise -p --exec`,
    operands: 'shell',
    operandsWith: { '-x': 'command', '--exec': 'command', '--help': '', '--version': '', '-v': '', '-h': '' },
    optionsFirst: true,
  },
  ...each('busybox toybox', { options: '--help --list --list-full', operands: 'command', optionsFirst: true }),
  script: {
    options: `${help} -aefqrk -c:shell --command:shell --append --flush --quiet --return --force`,
    operands: 'write?',
    asksWithout: ['-c --command --help --version', 'code/unseen'],
  },
  ...each('hyperfine', {
    options: `${help} -hVNi -w:text --warmup:text -m:text --min-runs:text -M:text --max-runs:text -r:text --runs:text -p:shell
      --prepare:shell -s:shell --setup:shell -c:shell --cleanup:shell -n:text --command-name:text --style:text -u:text --time-unit:text
      --export-json:write --export-markdown:write --export-csv:write --export-asciidoc:write --show-output --ignore-failure:text?
      --output:write --input:read`,
    operands: 'shell*',
  }),
};

/** What runs a command in a way that is not seen here. The command is looked at all the same, for what nobody may run. */
const hidden: Programs = {
  // GNU parallel hands lines and words to a shell.
  ...each('parallel', {
    options: '-0kNt -j:text --jobs:text --bar --progress --dry-run --keep-order --halt:text --no-notice --will-cite',
    operands: 'command',
    optionsFirst: true,
    asks: 'code/unseen',
  }),
  ...each('strace ltrace dtruss perf valgrind rr', {
    options: '-fcqttTyvCr -e:text -o:write -s:text -p:text -E:text',
    operands: 'command',
    optionsFirst: true,
    asks: 'program/launcher',
  }),
  ...each('gdb lldb', { operands: 'script text*', anyOption: true, asks: 'code/inline' }),
  ...each('entr watchexec inotifywait fswatch reflex', { operands: 'command', optionsFirst: true, asks: 'program/launcher' }),
  ...each(
    'dbus-run-session firejail bwrap proot unshare nsenter setpriv capsh setarch linux32 linux64 choom prlimit cgexec torsocks proxychains',
    {
      options: '-t:text -m -n -p -u -i -U -r -a -S:text -f --fork --pid --mount --net --user',
      operands: 'command',
      optionsFirst: true,
      asks: 'program/launcher',
    },
  ),
  sudo: {
    options: `${help} -ABbEHikKlNnPsVv -S!accounts/password-input --stdin!accounts/password-input -u:text --user:text -g:text --group:text
      -C:text -D:text --chdir:text -h:text --host:text -p:text --prompt:text -R:text --chroot:text -r:text -T:text -t:text -U:text --login
      --shell --validate --list --non-interactive --preserve-env:text? --set-home --reset-timestamp --remove-timestamp --background --edit`,
    operands: 'variable* command',
    optionsFirst: true,
    asks: 'accounts/root-shell',
  },
  ...each('doas pkexec gosu su-exec run0 sudoedit', {
    options: `${help} -nsL -u:text --user:text -C:text`,
    operands: 'command',
    optionsFirst: true,
    asks: 'accounts/root-shell',
  }),
  ...each('su runuser sg newgrp', {
    options: `${help} -lmpPf -c:shell --command:shell -s:text --shell:text -g:text -G:text -w:text -u:text --user:text --login
      --preserve-environment`,
    operands: 'text*',
    asks: 'accounts/root-shell',
  }),
  chroot: {
    options: '--userspec:text --groups:text --skip-chdir',
    operands: 'text command',
    optionsFirst: true,
    asks: 'accounts/root-shell',
  },
  'systemd-run': {
    options: `-GdqrtP --user --system --scope --pty --pipe --wait --collect --quiet -p:text --property:text -E:text --unit:text -u:text
      --on-calendar:text --on-active:text`,
    operands: 'command',
    optionsFirst: true,
    asks: 'persistence/startup',
  },
};

export const launcherPrograms: Programs = { ...plain, ...hidden };
