import { describe, expect, it } from 'vitest';
import { markIn, programName } from '../../src/egress/connection-owner.ts';
import { rowsIn, tableNames } from '../../src/egress/socket-table.ts';

const header =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                      \n';
const row = (number: number, ends: string, state: string, inode: number): string =>
  `${String(number).padStart(4)}: ${ends} ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`;

describe('the names of a connection in the tables of the kernel', () => {
  it('are its ends as the client sees them, for a socket of IPv4 and of IPv6', () => {
    const [ipv4, mapped] = tableNames({ address: '127.0.0.1', port: 54321 }, { address: '127.64.0.7', port: 443 });
    expect(ipv4).toBe('0100007F:D431 0700407F:01BB');
    expect(mapped).toBe('0000000000000000FFFF00000100007F:D431 0000000000000000FFFF00000700407F:01BB');
  });
});

describe('rows of a table of sockets', () => {
  it('tell the ends and the inode of each socket, in any state', () => {
    const ends = '0100007F:D431 0100007F:0C38';
    const mapped = '0000000000000000FFFF00000100007F:D432 0000000000000000FFFF00000100007F:0C38';
    const table = header + row(0, '0100007F:0C38 00000000:0000', '0A', 77) + row(1, ends, '01', 123_456) + row(12345, mapped, '05', 9);
    expect(rowsIn(table)).toEqual([
      ['0100007F:0C38 00000000:0000', '77'],
      [ends, '123456'],
      [mapped, '9'],
    ]);
  });

  it('leave out sockets that no process has', () => {
    expect(rowsIn(header + row(0, '0100007F:D431 0100007F:0C38', '06', 0))).toEqual([]);
  });
});

/** As /proc/PID/limits shows them: soft, then hard. */
const limits = (resident: string, locks: string): string =>
  [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    `Max resident set          ${resident.padEnd(20)} ${resident.padEnd(20)} bytes     `,
    'Max processes             96343                96343                processes ',
    `Max file locks            ${locks.padEnd(20)} ${locks.padEnd(20)} locks     `,
    '',
  ].join('\n');
const whole = (mark: bigint): string => limits(String((9_000_000_000_000_000n - mark) * 1024n), String(mark));

describe('the mark of a process', () => {
  it('is the hard limit of file locks that the limit of resident memory completes', () => {
    expect(markIn(whole(1_234_567_000_000_001n))).toBe('1234567000000001');
    expect(markIn(whole(7_999_999_999_999_999n))).toBe('7999999999999999');
  });

  it('is none without limits, or when one of them was lowered', () => {
    expect(markIn('')).toBeUndefined();
    expect(markIn(limits('unlimited', 'unlimited'))).toBeUndefined();
    expect(markIn(limits('unlimited', '1234567000000001'))).toBeUndefined();
    const resident = (9_000_000_000_000_000n - 1_234_567_000_000_001n) * 1024n;
    expect(markIn(limits(String(resident), '1234567000000000'))).toBeUndefined();
    expect(markIn(limits(String(resident - 1n), '1234567000000001'))).toBeUndefined();
    expect(markIn(limits(String(resident - 1024n), '1234567000000001'))).toBeUndefined();
  });

  it('is none when the sum is right and the number is no mark', () => {
    expect(markIn(whole(8_000_000_000_000_000n))).toBeUndefined();
    expect(markIn(whole(5n))).toBeUndefined();
  });
});

describe('the name of a program', () => {
  it.each([
    ['curl\n', 'curl\0-sS\0', 'curl'],
    ['node-MainThread\n', '/usr/bin/node\0app.js\0', 'node-MainThread (node)'],
    ['a-very-long-pro\n', './a-very-long-program\0', 'a-very-long-program'],
    ['bash\n', '-bash\0', 'bash'],
    ['kworker\n', '', 'kworker'],
    ['', '', undefined],
    ['py\u001b[2J\u202ethon\n', 'python3\0', 'py [2J thon (python3)'],
  ])('of %j and %j is %j', (comm, commandLine, name) => {
    expect(programName(comm, commandLine)).toBe(name);
  });

  it('is short', () => {
    expect(programName('x\n', `/${'y'.repeat(9_000)}\0`)?.length).toBeLessThan(60);
  });
});
