import { HermeticError } from '../../core/errors.ts';

/** The parts of a container that `terminal.docker_extra_args` adds. */
export interface ExtraSettings {
  hostname?: string;
  network?: string;
  runtime?: string;
  shmBytes?: number;
  /** -1 is all of them. */
  gpus?: number;
  ulimits: { Name: string; Soft: number; Hard: number }[];
  hosts: string[];
  dns: string[];
  labels: Record<string, string>;
}

const key = 'terminal.docker_extra_args';

/** Security: these weaken or bypass the sandbox. What each is wanted for has a key of its own, or must not be. */
const refused: Readonly<Record<string, string>> = {
  '--privileged': 'A privileged container is no sandbox.',
  '--cap-add': 'The capabilities of a sandbox are fixed.',
  '--cap-drop': 'All capabilities a sandbox can do without are dropped already.',
  '--security-opt': 'The security options of a sandbox are fixed. For another kernel boundary use terminal.docker_runtime.',
  '--pid': 'Sharing processes with the host is no sandbox.',
  '--ipc': 'Sharing memory with others is no sandbox. For more shared memory use --shm-size.',
  '--uts': 'Sharing the host name with the host is no sandbox.',
  '--userns': "The user namespace is the engine's to choose.",
  '--cgroupns': 'The control group of a sandbox is fixed.',
  '--cgroup-parent': 'The control group of a sandbox is fixed.',
  '--device': 'Devices of the host are not given to a sandbox. For graphics cards use --gpus.',
  '--device-cgroup-rule': 'Devices of the host are not given to a sandbox.',
  '--volume': 'Use terminal.docker_volumes.',
  '-v': 'Use terminal.docker_volumes.',
  '--mount': 'Use terminal.docker_volumes.',
  '--volumes-from': 'Use terminal.docker_volumes.',
  '--tmpfs': 'The temporary directories of a sandbox are fixed.',
  '--env': 'Use terminal.docker_env.',
  '-e': 'Use terminal.docker_env.',
  '--env-file': 'Use terminal.docker_env or terminal.docker_forward_env.',
  '--user': 'Use terminal.docker_run_as_host_user.',
  '-u': 'Use terminal.docker_run_as_host_user.',
  '--memory': 'Use terminal.container_memory.',
  '-m': 'Use terminal.container_memory.',
  '--memory-swap': 'Use terminal.container_memory.',
  '--cpus': 'Use terminal.container_cpu.',
  '--pids-limit': 'Use terminal.container_pids.',
  '--storage-opt': 'Use terminal.container_disk.',
  '--workdir': 'Use terminal.cwd.',
  '-w': 'Use terminal.cwd.',
  '--publish': 'Ports of a sandbox are not opened on the host.',
  '-p': 'Ports of a sandbox are not opened on the host.',
  '--entrypoint': 'The program a sandbox starts with is fixed.',
  '--name': 'The name of a sandbox is derived from its session.',
  '--init': 'Every sandbox has an init process.',
  '--rm': 'Use terminal.container_persistent.',
  '--restart': 'A sandbox is started when it is needed.',
};

const setters: Readonly<Record<string, (settings: ExtraSettings, value: string) => void>> = {
  '--shm-size': (settings, value) => {
    settings.shmBytes = bytes('--shm-size', value);
  },
  '--ulimit': (settings, value) => {
    const [, name, soft, hard] =
      /^([a-z]+)=(-1|\d{1,15})(?::(-1|\d{1,15}))?$/.exec(value) ?? malformed('--ulimit', value, 'NAME=SOFT[:HARD]');
    settings.ulimits.push({ Name: String(name), Soft: Number(soft), Hard: Number(hard ?? soft) });
  },
  '--add-host': (settings, value) => {
    settings.hosts.push(
      matching('--add-host', value, /^[A-Za-z0-9._-]+[:=](host-gateway|[0-9a-fA-F.:[\]]+)$/, 'NAME:ADDRESS').replace('=', ':'),
    );
  },
  '--dns': (settings, value) => {
    settings.dns.push(matching('--dns', value, /^[0-9a-fA-F.:]+$/, 'ADDRESS'));
  },
  '--hostname': (settings, value) => {
    settings.hostname = matching('--hostname', value, /^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$/, 'NAME');
  },
  '--runtime': (settings, value) => {
    settings.runtime = matching('--runtime', value, /^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'NAME');
  },
  '--gpus': (settings, value) => {
    settings.gpus = value === 'all' ? -1 : Number(matching('--gpus', value, /^[1-9]\d{0,2}$/, 'all or a number'));
  },
  '--network': (settings, value) => {
    // Security: `host` and `container:…` would put the sandbox into the network of the host or of another container.
    if (['host', 'none', 'bridge', 'default'].includes(value)) {
      throw refusal(`${key}: --network ${value} is not accepted.`, 'Use terminal.network.');
    }
    settings.network = matching(
      '--network',
      value,
      /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
      'the name of a network made with `docker network create`',
    );
  },
  '--label': (settings, value) => {
    const [, name = '', text = ''] = /^([^=\s]+)(?:=(.*))?$/s.exec(value) ?? malformed('--label', value, 'NAME=TEXT');
    // Security: our labels decide which containers are ours to reuse and to remove.
    if (name.startsWith('hermetic.')) {
      throw refusal(`${key}: the label ${name} is Hermetic's own.`, 'Choose another name.');
    }
    settings.labels[name] = text;
  },
};

/** An argument vector as for `docker run`, of which only what is known to be harmless is accepted. */
export function parseExtraArguments(args: readonly string[]): ExtraSettings {
  const settings: ExtraSettings = { ulimits: [], hosts: [], dns: [], labels: {} };
  const rest = [...args];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const equals = argument.indexOf('=');
    const name = equals === -1 ? argument : argument.slice(0, equals);
    const short = /^-[a-z]/.test(name) ? name.slice(0, 2) : name;
    const reason = refused[name] ?? refused[short];
    if (reason !== undefined) {
      throw refusal(`${key}: ${short === '-' ? name : refused[name] === undefined ? short : name} is not accepted.`, reason);
    }
    const set = Object.hasOwn(setters, name) ? setters[name] : undefined;
    if (!set) {
      const hint = /\s/.test(argument)
        ? 'Write an option and its value as two entries, or with "=" between them.'
        : `Accepted are ${Object.keys(setters).join(', ')}.`;
      throw refusal(`${key}: ${JSON.stringify(argument)} is not accepted.`, hint);
    }
    const value = equals === -1 ? rest.shift() : argument.slice(equals + 1);
    if (value === undefined || value === '') {
      throw refusal(`${key}: ${name} needs a value.`, `Write it as ${name}=VALUE.`);
    }
    set(settings, value);
  }
  return settings;
}

function bytes(option: string, value: string): number {
  const [, digits, unit = 'b'] = /^(\d{1,12})([bkmg])?b?$/i.exec(value) ?? malformed(option, value, 'a size such as 512m or 2g');
  return Number(digits) * 1024 ** 'bkmg'.indexOf(unit.toLowerCase());
}

function matching(option: string, value: string, pattern: RegExp, form: string): string {
  return pattern.test(value) ? value : malformed(option, value, form);
}

function malformed(option: string, value: string, form: string): never {
  throw refusal(`${key}: ${option} does not accept ${JSON.stringify(value)}.`, `Expected is ${form}.`);
}

function refusal(message: string, hint: string): HermeticError {
  return new HermeticError('config/bad-value', message, { hint });
}
