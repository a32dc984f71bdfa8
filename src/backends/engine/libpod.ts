import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import type { EngineAddress } from './address.ts';
import type { CreateBody, EngineInfo } from './engine.ts';

/** The part of `GET /libpod/info` that matters here. */
export interface LibpodInfo {
  host: { cgroupControllers: string[] | null };
}

/** Security: for Docker's question about limits libpod reads the kernel's abilities, also where its user may use none of them. */
export function truthfulInfo(info: EngineInfo, { host }: LibpodInfo): EngineInfo {
  const controllers = host.cgroupControllers ?? [];
  const has = (name: string): boolean => controllers.includes(name);
  const hasMemory = info.MemoryLimit && has('memory');
  return { ...info, MemoryLimit: hasMemory, SwapLimit: info.SwapLimit && hasMemory, CpuCfsQuota: has('cpu'), PidsLimit: has('pids') };
}

/**
 * Libpod raises these limits for every container, which it may not where it lacks CAP_SYS_RESOURCE, as in a container. What this program has is
 * what a service on the same machine usually has.
 */
export function withUlimits(body: CreateBody): CreateBody {
  const { HostConfig } = body as { HostConfig?: { Ulimits?: { Name: string }[] } };
  const given = HostConfig?.Ulimits ?? [];
  const own = ownLimits().filter(({ Name }) => given.every((limit) => limit.Name !== Name));
  return { ...body, HostConfig: { ...HostConfig, Ulimits: [...given, ...own] } };
}

/** Libpod gives itself no more. */
const ulimits = [
  { Name: 'nofile', line: 'Max open files', max: 1_048_576 },
  { Name: 'nproc', line: 'Max processes', max: 32_768 },
];

function ownLimits(): { Name: string; Soft: number; Hard: number }[] {
  const text = readFileSync('/proc/self/limits', 'utf8');
  return ulimits.flatMap(({ Name, line, max }) => {
    const [, soft, hard] = new RegExp(`^${line} +(\\w+) +(\\w+)`, 'm').exec(text) ?? [];
    const number = (value: string | undefined): number => Math.min(value === 'unlimited' ? max : Number(value), max);
    return soft === undefined ? [] : [{ Name, Soft: number(soft), Hard: number(hard) }];
  });
}

/**
 * The files of `/etc` that libpod would take from its host: `hosts`, with the name that every sandbox has inside, and `resolv.conf`. A `hosts` that
 * is there is left as it is: a command may have changed it.
 */
export async function makeEtc(etc: string, resolvers: readonly string[]): Promise<void> {
  const [hosts, resolver] = [join(etc, 'hosts'), join(etc, 'resolv.conf')];
  await mkdir(etc, { recursive: true });
  if (!existsSync(hosts)) await writeFile(hosts, '127.0.0.1\tlocalhost sandbox\n::1\tlocalhost ip6-localhost ip6-loopback\n');
  await writeFile(resolver, resolvers.map((address) => `nameserver ${address}\n`).join(''));
  // The user inside may be another one, and no other user comes past the directory above.
  await Promise.all([chmod(etc, 0o755), chmod(hosts, 0o644), chmod(resolver, 0o644)]);
}

/** Security: what libpod would put into its containers from its own machine can be kept out only where directories are shared. */
export function refuseRemoteLibpod(address: EngineAddress, where: string): void {
  if (address.kind === 'unix') return;
  throw new HermeticError(
    'backend/unavailable',
    `The engine at ${where} is Podman, whose services are used only by a socket of this machine.`,
    {
      hint: 'Run Hermetic where the podman service runs, or use a Docker engine there.',
    },
  );
}

/** Every exec of libpod leaves two processes for five minutes, so that shells must be started without it. */
export function refuseUnsharedLibpod(isForked: boolean, runtime: string): void {
  if (isForked) return;
  throw new HermeticError(
    'backend/unavailable',
    `Podman runs its containers with ${runtime} here, or on another kernel, which is not supported.`,
    {
      hint: 'Set `runtime = "crun"` or `"runc"` in the section [engine] of containers.conf, or use the docker backend.',
    },
  );
}
