import { readFile } from 'node:fs/promises';
import { HermeticError } from '../../core/errors.ts';
import type { Check } from '../../core/sandbox.ts';
import { containerRemedy } from '../container-remedy.ts';

type Unusable = Extract<Check, { usable: false }>;
export type Failure = Pick<Unusable, 'code' | 'reason' | 'fix'>;

export function notInstalled({ remedy } = { remedy: containerRemedy() }): Failure {
  const fix = 'apt-get install bubblewrap';
  return {
    code: 'backend/not-installed',
    reason: 'bubblewrap is not installed.',
    fix: remedy === undefined ? fix : `${fix}, in the image. ${remedy}`,
  };
}

const elsewhere = 'Allow user namespaces and mounts in them to what runs Hermetic, or use another backend.';

const appArmorFix = [
  "printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\\n  userns,\\n}\\n'",
  '| sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor',
].join(' ');

interface Surroundings {
  /** How to start the container that this is in. */
  remedy: string | undefined;
  /** A setting of the kernel. */
  setting?: (name: string) => Promise<number | undefined>;
}

/** Explains why bubblewrap failed to start on this machine; undefined when its output names no fault of the machine. */
export async function explainFailure(
  stderr: string,
  { remedy, setting = settingHere }: Surroundings = { remedy: containerRemedy() },
): Promise<Failure | undefined> {
  const unavailable = (reason: string, fix: string): Failure => ({ code: 'backend/unavailable', reason, fix });
  // In a container the setting is in the way as well, and cannot be changed there.
  const bySetting = (reason: string, fix: string): Failure =>
    unavailable(reason, remedy === undefined ? fix : `${remedy} Before, on the machine outside: ${fix}`);

  if (/exec: (setpriv|unshare): not found|(unshare|setpriv|mount): (command )?not found/.test(stderr)) {
    return {
      code: 'backend/not-installed',
      reason: 'The programs unshare, mount and setpriv are needed.',
      fix: 'apt-get install util-linux mount',
    };
  }
  if (/^unshare: .*Operation not permitted/m.test(stderr)) {
    return unavailable('This root may not make mount namespaces, as in a container.', remedy ?? 'Run Hermetic as an ordinary user.');
  }
  const namespaceRefused = /No permissions to creat|Creating new namespace failed|setting up uid map|RTM_NEWADDR|needs access to create/i;
  if (namespaceRefused.test(stderr)) {
    if ((await setting('kernel/unprivileged_userns_clone')) === 0) {
      return bySetting('The kernel does not let ordinary users make user namespaces.', 'sudo sysctl -w kernel.unprivileged_userns_clone=1');
    }
    if ((await setting('user/max_user_namespaces')) === 0) {
      return bySetting('The kernel is set to allow no user namespaces.', 'sudo sysctl -w user.max_user_namespaces=15000');
    }
    if ((await setting('kernel/apparmor_restrict_unprivileged_userns')) === 1) {
      return bySetting('AppArmor keeps bubblewrap from making user namespaces, as on Ubuntu 24.04.', appArmorFix);
    }
    if (/No space left/.test(stderr)) {
      return unavailable('All user namespaces this machine allows are in use.', 'sudo sysctl -w user.max_user_namespaces=15000');
    }
    return unavailable('User namespaces are forbidden here, as by the container that Hermetic runs in.', remedy ?? elsewhere);
  }
  if (/(Can't mount proc|mount proc on)/.test(stderr)) {
    return unavailable(
      'A process file system of its own cannot be mounted, because parts of /proc are hidden here, as in a container.',
      remedy ?? elsewhere,
    );
  }
  if (remedy !== undefined && /pivot_root: Operation not permitted|Can't set hostname/.test(stderr)) {
    return unavailable(
      'Namespaces are only allowed in part here, as in a container with a capability or profile that is not enough.',
      remedy,
    );
  }
  if (/Failed to make \/ slave/.test(stderr)) {
    return unavailable('Mounts are forbidden here, as by AppArmor in a container.', remedy ?? elsewhere);
  }
  return undefined;
}

export function failureError(failure: Failure): HermeticError {
  return new HermeticError(failure.code, failure.reason, { hint: failure.fix });
}

async function settingHere(name: string): Promise<number | undefined> {
  const text = await readFile(`/proc/sys/${name}`, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : Number(text);
}
