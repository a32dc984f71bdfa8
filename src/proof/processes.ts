import type { ProofLine } from '../core/proof.ts';
import { noticed, type Witness } from './bait.ts';
import { type Ground, line, unanswered } from './ground.ts';

export async function checkProcesses(ground: Ground, witness: Witness | Error): Promise<ProofLine[]> {
  const [seeing, signalling] = ['See a process of the host in /proc.', 'Signal a process of the host.'];
  if (witness instanceof Error) {
    const happened = `No process could be started to look for: ${witness.message}`;
    return [line('host-processes', seeing, 'unknown', happened), line('host-signal', signalling, 'unknown', happened)];
  }
  const [seen, sent] = await Promise.all([
    ground.inside.ask('processes', witness.word),
    ground.inside.ask('signal', String(witness.pid), witness.word),
  ]);
  if (sent?.outcome === 'sent') await noticed(() => witness.wasSignalled());
  return [judgeSeen(seeing, seen), judgeSignal(signalling, sent?.outcome, witness, hasOwnProcesses(ground))];
}

function judgeSeen(tried: string, answer: { outcome: string; detail: string } | undefined): ProofLine {
  const check = 'host-processes';
  if (answer?.outcome === 'seen') return line(check, tried, 'broken', `It is there as process ${answer.detail}.`);
  if (answer?.outcome !== 'unseen') return unanswered(check, tried);
  return line(check, tried, 'held', `It is not among the ${answer.detail} processes there.`);
}

function judgeSignal(tried: string, outcome: string | undefined, witness: Witness, isOwn: boolean | undefined): ProofLine {
  const check = 'host-signal';
  if (witness.wasSignalled()) return line(check, tried, 'broken', 'The process was ended from inside.');
  switch (outcome) {
    case 'absent':
      return line(check, tried, 'held', 'Its process id does not exist inside.');
    case 'refused':
      return line(check, tried, 'broken', 'The signal was refused, but the process can be addressed.');
    case 'taken':
      if (isOwn) return line(check, tried, 'held', "Its process id is one of the sandbox's own processes inside.");
      return line(check, tried, 'unknown', 'Its process id is another process inside, which was left alone.');
    default:
      return unanswered(check, tried);
  }
}

/** Whether the sandbox numbers its processes by itself; undefined when the host cannot see. */
function hasOwnProcesses({ host }: Ground): boolean | undefined {
  const inside = host?.init.namespaces.get('pid');
  return inside === undefined ? undefined : inside !== host?.namespaces.get('pid');
}
