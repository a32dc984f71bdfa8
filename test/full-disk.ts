import { execFileSync } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

/** A small disk of its own, which can be filled to the last byte. */
export function mountDisk(directory: string): void {
  execFileSync('env', ['mount', '-t', 'tmpfs', '-o', 'size=6m,mode=700', 'hermetic-test', directory]);
}

export function unmountDisk(directory: string): void {
  execFileSync('env', ['umount', '--lazy', directory]);
}

export function fillDisk(directory: string): void {
  for (let bytes = 512 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      for (;;) appendFileSync(fillerIn(directory), Buffer.alloc(bytes));
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
  }
}

export function freeDisk(directory: string): void {
  rmSync(fillerIn(directory), { force: true });
}

function fillerIn(directory: string): string {
  return join(directory, 'filler');
}
