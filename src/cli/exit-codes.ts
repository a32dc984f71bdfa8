import type { ErrorCode } from '../core/errors.ts';

/** 1 failed, 2 bad usage or configuration, 3 backend unavailable, 4 denied. */
export function exitCodeFor(code: ErrorCode): number {
  switch (code) {
    case 'usage/bad-argument':
    case 'config/unreadable':
    case 'config/bad-yaml':
    case 'config/unknown-key':
    case 'config/unused-key':
    case 'config/bad-value':
    case 'backend/unknown':
    case 'backend/cannot-honour':
    case 'backend/cannot-restrict':
      return 2;
    case 'backend/unavailable':
    case 'backend/not-installed':
    case 'backend/not-running':
    case 'backend/not-permitted':
    case 'sandbox/no-image':
      return 3;
    case 'approval/denied':
    case 'approval/own-session':
      return 4;
    default:
      return 1;
  }
}
