import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { EndRecord } from '../../src/shell/end-channel.ts';
import { StreamRecords, unquote } from '../../src/shell/streams/stream-records.ts';

const nonce = 'fedcba9876543210fedcba9876543210';
const fields = ['declare -x A="1"\n', 'declare -f f\n', 'f () \n{ \n    :\n}\n', '', 'extglob', 'umask 0022\n', '/tmp/\xc3\xa9\n'];
const quoted = quote(fields.map((field) => field + nonce).join(''));

/** As bash does it. */
function quote(text: string): string {
  const { stdout } = spawnSync('bash', ['-c', `LC_ALL=C; text=$(cat; printf .); text=\${text%.}; printf %s "\${text@Q}"`], {
    input: Buffer.from(text, 'latin1'),
  });
  return stdout.toString('latin1');
}

function listen() {
  const heard: EndRecord[] = [];
  const records = new StreamRecords(
    nonce,
    (record) => heard.push(record),
    () => expect.fail('it was not that much'),
  );
  return { heard, records };
}

describe('the state in records', () => {
  it('unquotes every byte that bash has quoted', () => {
    const bytes = Array.from({ length: 255 }, (_, index) => String.fromCharCode(index + 1)).join('');
    for (const text of [bytes, '\n', "\n'\\'\\\\n\\101$'", `a\nb${bytes}${bytes}`]) expect(unquote(quote(text))).toBe(text);
  });

  it('assembles a state from one piece or many', () => {
    for (const size of [quoted.length, 100, 7]) {
      const { heard, records } = listen();
      let rest = quoted;
      for (; rest.length > size; rest = rest.slice(size)) records.frame('p', rest.slice(0, size));
      records.frame('s', `${quoted.length}:${rest}`);
      expect(heard).toEqual([
        {
          kind: 'dump',
          dump: {
            exports: fields[0],
            functionNames: fields[1],
            functions: fields[2],
            aliases: fields[3],
            options: fields[4],
            umask: fields[5],
            directory: fields[6],
          },
        },
      ]);
    }
  });

  it('drops a state with a missing or damaged piece, and accepts the records after it', () => {
    const whole = `${quoted.length}:${quoted}`;
    const attempts: ((records: StreamRecords) => void)[] = [
      (records) => records.frame('s', `${quoted.length}:${quoted.slice(10)}`),
      (records) => records.frame('s', `${quoted.length + 1}:${quoted}`),
      (records) => records.frame('s', quoted),
      (records) => {
        records.frame('p', 'x');
        records.frame('s', whole);
      },
      (records) => {
        records.damaged();
        records.frame('s', whole);
      },
      (records) => {
        const text = quote(`${nonce}${nonce}\n`);
        records.frame('s', `${text.length}:${text}`);
      },
    ];
    for (const attempt of attempts) {
      const { heard, records } = listen();
      attempt(records);
      expect(heard).toEqual([]);
      records.mark('m', 'E');
      records.frame('r', 'E 3');
      records.frame('s', whole);
      expect(heard.map(({ kind }) => kind)).toEqual(['completed', 'dump']);
    }
  });
});

describe('the record that ends a command', () => {
  it('holds the end of a command until its output has arrived', () => {
    const { heard, records } = listen();
    records.frame('r', 'R');
    records.frame('r', 'E 0');
    records.frame('r', 'S 0');
    expect(heard).toEqual([{ kind: 'ready' }]);
    records.mark('m', 'E');
    expect(heard.slice(1)).toEqual([{ kind: 'completed', code: 0 }]);
    records.mark('m', 'S');
    expect(heard.slice(2)).toEqual([{ kind: 'status', code: 0, killed: false }]);
  });

  it('takes the mark of the supervisor for those that a command kept from being written', () => {
    const { heard, records } = listen();
    for (const text of ['E 0', 'S 0']) records.frame('r', text);
    expect([heard, records.isShort]).toEqual([[], true]);
    records.mark('m', 'S');
    expect(heard).toEqual([
      { kind: 'completed', code: 0 },
      { kind: 'status', code: 0, killed: false },
    ]);
    expect(records.isShort).toBe(false);
  });
});

describe('records that wait for their mark', () => {
  it('reports a flood after a thousand records that wait for their mark', () => {
    let floods = 0;
    const records = new StreamRecords(
      nonce,
      () => undefined,
      () => {
        floods += 1;
      },
    );
    for (let n = 0; n < 1000; n++) records.frame('r', 'E 0');
    expect(floods).toBe(0);
    records.frame('r', 'E 0');
    expect(floods).toBe(1);
  });

  it('delivers records in order once their mark has arrived', () => {
    const { heard, records } = listen();
    for (const text of ['R', 'X 3', 'S 3']) records.frame('r', text);
    const before = heard.length;
    records.mark('m', 'X');
    records.mark('m', 'S');
    expect([before, heard.map(({ kind }) => kind)]).toEqual([1, ['ready', 'exiting', 'status']]);
  });
});
