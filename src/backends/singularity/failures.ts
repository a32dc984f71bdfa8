import { HermeticError } from '../../core/errors.ts';
import { hermetic } from '../../lib/own-command.ts';

const otherwise = 'Use the bubblewrap or the docker backend.';

export function notInstalled(): HermeticError {
  return new HermeticError('backend/not-installed', 'Apptainer is not installed.', {
    hint: 'Install the package apptainer, or name the program in terminal.singularity_program.',
  });
}

/** The error for a container that did not start, from what Apptainer said. */
export function startError(stderr: string): HermeticError {
  const said = lastLines(stderr);
  if (/unshare: .*(Operation not permitted|No space left)|max_user_namespaces|user namespaces? .*(disabled|not)/i.test(stderr)) {
    return new HermeticError('backend/unavailable', `User namespaces cannot be made, or not be forbidden inside: ${said}`, {
      hint: `sudo sysctl -w user.max_user_namespaces=15000; in a container, let it make user namespaces and write /proc/sys/user. ${hermetic} doctor explains the same for bubblewrap.`,
    });
  }
  if (/(unshare|setpriv): (command )?not found|unrecognized option/.test(stderr)) {
    return new HermeticError('backend/not-installed', `util-linux 2.38 or newer is needed: ${said}`, {
      hint: 'apt-get install util-linux',
    });
  }
  if (/unknown flag|invalid argument .* for "--/.test(stderr)) {
    return new HermeticError('backend/unavailable', `This Apptainer is too old: ${said}`, { hint: 'Apptainer 1.2 or newer is needed.' });
  }
  if (/overlay/i.test(stderr)) {
    return new HermeticError('sandbox/open-failed', `Apptainer could not use an overlay: ${said}`, {
      hint: 'Set terminal.singularity_overlay to false: only home and workspace can be changed then.',
    });
  }
  if (/seccomp/i.test(stderr)) {
    return new HermeticError('backend/unavailable', `Apptainer cannot filter system calls here: ${said}`, { hint: otherwise });
  }
  if (/"?bash"?.*(not found|no such file)/i.test(stderr)) {
    return new HermeticError('sandbox/open-failed', `The image has no bash: ${said}`, { hint: 'Choose an image with bash 5 or newer.' });
  }
  return new HermeticError('sandbox/open-failed', `Apptainer could not start: ${said}`, { hint: otherwise });
}

export function lastLines(stderr: string): string {
  return stderr.trim().split('\n').slice(-3).join('; ') || 'it ended without a message';
}
