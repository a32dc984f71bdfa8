import type { Sandbox } from '../../src/core/sandbox.ts';
import { AllowedSandbox } from '../../src/tools/allowed-sandbox.ts';
import { RunningCall } from '../../src/tools/running-call.ts';

/** A sandbox as a call gets it that may do everything. */
export function callSandbox(sandbox: Sandbox): AllowedSandbox {
  return new AllowedSandbox(sandbox, {
    isAsAllowed: () => true,
    askToConnect: undefined,
    connected: undefined,
    signal: new AbortController().signal,
    call: new RunningCall('terminal', '', undefined),
  });
}
