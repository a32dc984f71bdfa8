import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OpenSandbox } from '../../src/core/sandbox.ts';
import { redactor } from '../../src/lib/redact.ts';
import { backgroundEvent } from '../../src/tools/process/background-events.ts';
import { ProcessTable } from '../../src/tools/process/process-table.ts';
import { describeBackend } from '../engines.ts';
import { callSandbox } from './call-sandbox.ts';

const secret = 'correct-horse-battery-staple';
/** What is told of the end of an output. */
const told = 2_000;

await describeBackend('bubblewrap', (engine) => {
  let sandbox: OpenSandbox;
  beforeAll(async () => {
    sandbox = await engine.open(engine.spec());
  });
  afterAll(() => sandbox?.destroy());

  /** What is told of a process when it has ended. */
  async function outputToldOf(command: string): Promise<string> {
    const processes = new ProcessTable(sandbox);
    const output = new Promise<string>((resolve) => {
      processes.listen((process, happened) => {
        const event = backgroundEvent(process, happened, redactor([secret]));
        if (event.kind === 'ended') resolve(event.output);
      });
    });
    await processes.start(callSandbox(sandbox), { command, cwd: undefined, terminal: undefined, patterns: [] });
    return await output;
  }

  it.each([1, secret.length / 2, secret.length - 1])(
    'redacts a secret of which only the last %d characters are in the reported output',
    async (inside) => {
      const output = await outputToldOf(`printf 'x%.0s' {1..500}; printf %s ${secret}; printf '.%.0s' {1..${told - inside}}`);
      expect(output.length).toBeLessThanOrEqual(told);
      expect(output).toMatch(/^x*(\[redacted)?\]?\.+$/);
    },
  );

  /** More bytes than are kept, which a terminal would show as nothing. */
  const colours = "printf '\\033[31m%.0s' {1..2395}";

  it('redacts a secret that the kept output cuts in two', async () => {
    expect(await outputToldOf(`printf 'x%.0s' {1..500}; printf %s ${secret}; ${colours}; printf end`)).toBe('');
    expect(await outputToldOf(`printf 'x%.0s' {1..500}; printf %s ${secret}; ${colours}; printf '\nend'`)).toBe('end');
  });

  it('redacts a key that the kept output cuts in two', async () => {
    const key = `printf -- '-----BEGIN PRIVATE KEY-----\n'; printf 'c2VjcmV0%.0s\n' {1..2000}; printf -- '-----END PRIVATE KEY-----\n'`;
    expect(await outputToldOf(`${key}; printf end`)).toBe('end');
  });
});
