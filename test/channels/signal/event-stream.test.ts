import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventStream, type StreamEvent } from '../../../src/channels/signal/event-stream.ts';

function read(text: string, { cuts = [], maxBytes = 1000 }: { cuts?: readonly number[]; maxBytes?: number } = {}): StreamEvent[] {
  const bytes = Buffer.from(text);
  const stream = new EventStream(maxBytes);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((one, other) => one - other), bytes.length];
  return places.flatMap((place, index) => stream.push(bytes.subarray(places[index - 1] ?? 0, place)));
}

describe('a stream of events', () => {
  it.each<[string, StreamEvent[]]>([
    ['data:a\n\n', [{ data: 'a', id: undefined }]],
    ['id:1-1\nevent:receive\ndata:{}\n\n', [{ data: '{}', id: '1-1' }]],
    ['id: 1-1\r\ndata: a\r\ndata: b\r\n\r\n', [{ data: 'a\nb', id: '1-1' }]],
    [':\n:\n\n\ndata\n\n', [{ data: '', id: undefined }]],
    [
      'id:1\ndata:a\n\ndata:b\n\n',
      [
        { data: 'a', id: '1' },
        { data: 'b', id: '1' },
      ],
    ],
    ['id:a b\ndata:a\n\n', [{ data: 'a', id: undefined }]],
    [`id:${'x'.repeat(300)}\ndata:a\n\n`, [{ data: 'a', id: undefined }]],
    ['data:not ended\n', []],
  ])('%j has the events %j', (text, events) => {
    expect(read(text)).toEqual(events);
  });

  it('skips an event that is too large, and knows its id', () => {
    const large = 'x'.repeat(1001);
    const after = { data: 'b', id: '2' };
    expect(read(`id:1\ndata:${large}\n\nid:2\ndata:b\n\n`)).toEqual([{ data: undefined, id: '1' }, after]);
    expect(read(`id:1\n${'data:xxxxxxxxx\n'.repeat(200)}\nid:2\ndata:b\n\n`)).toEqual([{ data: undefined, id: '1' }, after]);
  });

  it('has the same events in whatever pieces it arrives', () => {
    const text = 'id:1-1\nevent:receive\ndata:{"text":"grüße 😀"}\n\n:\nid:1-2\ndata:x\ndata:y\n\n';
    fc.assert(
      fc.property(fc.array(fc.nat(200)), (cuts) => {
        expect(read(text, { cuts })).toEqual(read(text));
      }),
    );
  });

  it('never throws, whatever arrives', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), (pieces) => {
        const stream = new EventStream(64);
        for (const piece of pieces) for (const { id } of stream.push(piece)) expect(id ?? 'x').toMatch(/^[\x21-\x7e]+$/);
      }),
    );
  });
});
