import * as z from 'zod';
import { channelDrivers } from '../../channels/index.ts';
import { hermetic } from '../../lib/own-command.ts';
import {
  choice,
  listOf,
  markRestart,
  minutes,
  notes,
  retentionDays,
  seconds,
  secondsOrNoLimit,
  text,
  wholeNumber,
  word,
} from '../../lib/setting-kinds.ts';
import { backend } from '../kinds.ts';
import { programRows } from '../program-rows.ts';
import { platformsWithoutChannel } from '../unused.ts';

export const gateway = z
  .strictObject({
    terminal_backend: backend()
      .optional()
      .describe('Backend of every messaging session; unset is `terminal.backend`. The CLI is left alone.'),
    sandbox_image: word('an image')
      .optional()
      .describe("Image of every messaging session; unset is the backend's image. A backend without images refuses it."),
    sandbox_lifetime: seconds()
      .default(3600)
      .describe(
        "How long a messaging session's sandbox may be idle before it is reclaimed. A process that a command left running keeps it from that.",
      ),
    background_lifetime: secondsOrNoLimit()
      .default(0)
      .describe(
        'How long after the last command a process that was left running may keep the sandbox of a messaging session from being reclaimed, in seconds; 0 is for as long as it runs.',
      ),
    sandbox_scope: choice(['session', 'user', 'chat', 'shared']).default('session').describe('Who shares a sandbox.'),
    busy_mode: choice(['interrupt', 'queue', 'steer']).default('interrupt').describe('What a message does to a turn that is running.'),
    allowed_users: listOf(userOnPlatform(), 'users as platform:id')
      .default([])
      .describe('Who may talk without pairing, on any platform, as `platform:id`, beside the lists of the platforms.'),
    group_sessions: choice(['per_user', 'shared'])
      .default('per_user')
      .describe('Whether people in a group have a session each or one together.'),
    thread_sessions: choice(['per_user', 'shared'])
      .default('shared')
      .describe('Whether people in a thread have a session each or one together.'),
    background_notify: choice(['turn', 'message', 'off'])
      .default('turn')
      .describe(
        'What happens when a background process ends or prints a text of `notify_on`: `turn` tells the agent, in a turn of its own when none runs; `message` tells the chat; `off` leaves it to the tool `process`.',
      ),
    session_reset: choice(['idle', 'daily', 'never']).default('idle').describe('When a session starts afresh.'),
    session_idle_minutes: minutes().default(1440).describe('How long a session may be idle before `idle` resets it.'),
    sandbox_retention_days: retentionDays().describe(
      `How long the files of a session that is not used are kept; 0 is for ever. The running gateway removes what is older once a day, and so does \`${hermetic} sandbox prune\`.`,
    ),
    transcript_retention_days: retentionDays().describe(
      'How long what was said is kept, in conversations and on the page; 0 is for ever. The running gateway removes whole turns that are older once a day.',
    ),
    max_sandboxes: wholeNumber('a whole number', 1)
      .default(32)
      .describe(
        'Sandboxes that run at once, with spares and those of an earlier run. Over it, the one idle for longest is stopped; when all are in use, turns wait in line and the user is told the place.',
      ),
  })
  .describe('Messaging sessions.');

// They decide which sandbox and conversation a message belongs to, so they stay the same while the gateway runs.
markRestart(gateway, 'terminal_backend', 'sandbox_scope', 'group_sessions', 'thread_sessions');
markRestart(gateway, 'sandbox_lifetime', 'background_lifetime', 'max_sandboxes');

export const approvals = z
  .strictObject({
    mode: choice(['manual', 'smart', 'off'])
      .default('manual')
      .describe(
        '`manual` asks a person, `smart` lets a reviewing model answer for low risks, `off` asks no one, except about hosts that no rule of a restricted network names (`network.ask`).',
      ),
    timeout: seconds().default(300).describe('How long a question stays open. No answer is a no.'),
    cron_mode: choice(['deny', 'approve'])
      .default('deny')
      .describe(
        'What becomes of an action that needs a person when a scheduled job asks. This version has no jobs of its own: only programs that use the library make such calls.',
      ),
    approvers: listOf(text(), 'users as platform:id, or `admins`')
      .default([])
      .describe('Who is asked and may answer, as `platform:id` (such as `telegram:4711`) or `admins`; empty is the person who asked.'),
    programs: programRows()
      .default({})
      .describe(
        'Programs that run on this machine without a question, besides those of the tables, such as `{ mytool: { options: "-v --output:write", operands: "read*" } }`; see [approvals](approvals.md#programs-of-your-own).',
      ),
    retention_days: retentionDays().describe(
      'How long questions are kept that were answered, expired or were withdrawn; 0 is for ever. Their records in the audit log stay.',
    ),
  })
  .describe('Questions to a person before an action.');

function userOnPlatform() {
  const platformNames = channelDrivers.map(({ kind }) => kind);
  return text()
    .regex(new RegExp(`^(${[...platformNames, ...platformsWithoutChannel].join('|')}):\\S+$`))
    .register(notes, { expects: `a platform and an id, such as telegram:4711 (${platformNames.join(', ')})` });
}
