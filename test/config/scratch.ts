import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { HermeticError } from '../../src/core/errors.ts';

/** A directory that is gone after the test. */
export function makeScratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export interface TestHome {
  userHome: string;
  directory: string;
  config: string;
  dotenv: string;
  /** Names this home and nothing else of the machine. */
  environment: Record<string, string>;
  writeConfig(...lines: string[]): void;
  writeDotenv(text: string, mode?: number): void;
}

export function makeHome(): TestHome {
  const userHome = makeScratch();
  const directory = join(userHome, '.hermetic');
  mkdirSync(directory, { mode: 0o700 });
  const config = join(directory, 'config.yaml');
  const dotenv = join(directory, '.env');
  return {
    userHome,
    directory,
    config,
    dotenv,
    environment: { HOME: userHome },
    writeConfig: (...lines) => writeFileSync(config, lines.map((line) => `${line}\n`).join('')),
    writeDotenv: (text, mode = 0o600) => {
      writeFileSync(dotenv, text);
      chmodSync(dotenv, mode);
    },
  };
}

/** The HermeticError a step throws. */
export function errorOf(step: () => unknown): HermeticError {
  try {
    step();
  } catch (error) {
    if (error instanceof HermeticError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
