/** One line of the probe. */
export type ProbeRecord =
  | { kind: 'fact'; name: string; value: string }
  | { kind: 'ready' }
  | { kind: 'answer'; id: string; outcome: string; detail: string };

const maxBytes = 1024 * 1024;
const maxLineBytes = 16 * 1024;
const factPattern = /^fact\t([A-Za-z0-9-]{1,40})\t([^\t]*)$/;
const answerPattern = /^answer\t([0-9]{1,6})\t([a-z]{1,20})\t([^\t]*)$/;

/**
 * Turns what the sandbox prints into records. Security: the sandbox may print anything, and as much as it likes. The first line that is
 * none of ours is a problem, and nothing after it counts.
 */
export class AnswerReader {
  #rest: Buffer = Buffer.alloc(0);
  #bytes = 0;
  #problem: string | undefined;

  add(data: Buffer): { records: ProbeRecord[]; problem?: string | undefined } {
    const records: ProbeRecord[] = [];
    this.#bytes += data.length;
    if (this.#bytes > maxBytes) this.#problem ??= `printed more than ${maxBytes} bytes`;
    let rest = Buffer.concat([this.#rest, data]);
    for (let end = rest.indexOf(10); end >= 0 && this.#problem === undefined; end = rest.indexOf(10)) {
      const record = end > maxLineBytes ? undefined : parse(rest.subarray(0, end).toString());
      if (record) records.push(record);
      else this.#problem = 'printed something else than answers';
      rest = rest.subarray(end + 1);
    }
    if (rest.length > maxLineBytes) this.#problem ??= `printed a line of more than ${maxLineBytes} bytes`;
    this.#rest = this.#problem === undefined ? Buffer.from(rest) : Buffer.alloc(0);
    return { records, problem: this.#problem };
  }
}

function parse(line: string): ProbeRecord | undefined {
  if (line === 'ready') return { kind: 'ready' };
  const fact = factPattern.exec(line);
  if (fact) return { kind: 'fact', name: fact[1] ?? '', value: fact[2] ?? '' };
  const answer = answerPattern.exec(line);
  return answer ? { kind: 'answer', id: answer[1] ?? '', outcome: answer[2] ?? '', detail: answer[3] ?? '' } : undefined;
}
