import * as z from 'zod';
import { traceAreas } from '../../core/trace.ts';
import { hermetic } from '../../lib/own-command.ts';
import {
  choice,
  flag,
  listOf,
  markRestart,
  retentionDays,
  seconds,
  text,
  url,
  variableName,
  wholeNumber,
} from '../../lib/setting-kinds.ts';
import { usualStallSeconds } from '../../models/index.ts';
import { prices } from '../kinds.ts';

export const codeExecution = z
  .strictObject({
    timeout: seconds().default(300).describe('How long a script may run.'),
    max_tool_calls: wholeNumber('a whole number', 0).default(50).describe('How many tool calls a script may make.'),
    mode: choice(['project', 'strict'])
      .default('project')
      .describe("`project` runs in the session's directory with its interpreter, `strict` in an empty directory."),
  })
  .describe('Scripts run by execute_code.');

markRestart(codeExecution, 'timeout', 'max_tool_calls', 'mode');

export const toolOutput = z
  .strictObject({
    max_bytes: wholeNumber('a whole number of bytes', 1)
      .default(50_000)
      .describe('Output a tool gives back. Head and tail are kept, the rest is put into a file in the sandbox.'),
  })
  .describe('What tools give back.');

markRestart(toolOutput, 'max_bytes');

export const security = z
  .strictObject({
    redact_secrets: flag()
      .default(true)
      .describe('Replaces known secrets and token formats in the results of tools. The audit log never holds them, also when this is off.'),
  })
  .describe('Protection against leaks.');

export const audit = z
  .strictObject({
    retention_days: retentionDays().describe(
      `How long records stay in the state database; 0 is for ever. The running gateway moves older ones to files \`logs/audit-FIRST-LAST.jsonl\` in the home once a day, where \`${hermetic} audit verify\`, \`show\` and \`export\` find them.`,
    ),
  })
  .describe('The audit log.');

export const log = z
  .strictObject({
    trace: listOf(choice(traceAreas), traceAreas.join(', '))
      .default([])
      .describe(
        'Parts of the program whose changes of state are written to the log, with times and without secrets: `shell`, `pool` (sandboxes), `turn`, `egress` (the restricted network). In the environment also as `shell,pool`. See [Why is it not moving?](waiting.md).',
      ),
  })
  .describe('The log of the program.');

export const model = z
  .strictObject({
    provider: choice(['openai-compatible', 'anthropic', 'openai', 'google', 'openrouter', 'ollama'])
      .optional()
      .describe('Whose interface to speak. `openai-compatible` works with any base URL.'),
    model: text('the name of a model').optional().describe("The model's name, as the provider spells it."),
    base_url: url().optional().describe("Where the provider answers; unset is the provider's own address."),
    context_tokens: wholeNumber('a whole number of tokens', 1000)
      .optional()
      .describe(
        'How much the model takes in; unset is what is known of it, or 32,000. For `ollama`, what the server was given as context length.',
      ),
    prices: prices()
      .optional()
      .describe(
        'What the model costs, in US dollars per million tokens, such as `{ input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 }`; with several models, such a map for each name. `cached_input` is input that the provider had kept, `cache_write` input that it keeps for later; unset, they cost like other input. Without prices, `/usage` shows tokens, and the cost only where the provider reports it.',
      ),
    stall_seconds: seconds()
      .default(usualStallSeconds)
      .describe(
        'How long a model may say nothing before its answer counts as failed. Raise it for a model on your own machine that loads slowly, and for one that thinks for long without showing it.',
      ),
    api_key_env: variableName().optional().describe("Variable that holds the API key; unset is the provider's usual name."),
  })
  .describe('The language model.');
