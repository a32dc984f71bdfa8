import { describe, expect, it } from 'vitest';
import { PullEventReader, PullProgress } from '../../../src/backends/engine/pull-progress.ts';

/** As an engine sent them, shortened. */
const recorded = [
  '{"status":"Pulling from library/python","id":"3.13-slim"}',
  '{"status":"Pulling fs layer","progressDetail":{},"id":"302e3ee49805"}',
  '{"status":"Pulling fs layer","progressDetail":{},"id":"030d7bdc20a6"}',
  '{"status":"Already exists","progressDetail":{},"id":"a3f1dfe736c5"}',
  '{"status":"Waiting","progressDetail":{},"id":"030d7bdc20a6"}',
  '{"status":"Downloading","progressDetail":{"current":10000000,"total":30000000},"progress":"[===>   ]  10MB/30MB","id":"302e3ee49805"}',
  '{"status":"Downloading","progressDetail":{"current":2000000,"total":10000000},"progress":"[=>   ]  2MB/10MB","id":"030d7bdc20a6"}',
  '{"status":"Verifying Checksum","progressDetail":{},"id":"030d7bdc20a6"}',
  '{"status":"Download complete","progressDetail":{},"id":"302e3ee49805"}',
  '{"status":"Extracting","progressDetail":{"current":327680,"total":30000000},"id":"302e3ee49805"}',
  '{"status":"Pull complete","progressDetail":{},"id":"302e3ee49805"}',
  '{"status":"Pull complete","progressDetail":{},"id":"030d7bdc20a6"}',
  '{"status":"Digest: sha256:2ec5a4a5c3e919570f57675471f081d6299668d909feabd8d4803c6c61af666c"}',
  '{"status":"Status: Downloaded newer image for python:3.13-slim"}',
];

describe('the progress of a pull', () => {
  it('adds up the layers of a pull, marks an unknown total and ends with the unpacking', () => {
    const progress = new PullProgress('python:3.13-slim');
    const texts = [progress.text()];
    for (const line of recorded) {
      progress.take(JSON.parse(line));
      if (progress.text() !== texts.at(-1)) {
        texts.push(progress.text());
      }
    }
    expect(texts).toEqual([
      'pulling python:3.13-slim',
      'pulling python:3.13-slim: 0 of 0+ MB',
      'pulling python:3.13-slim: 10 of 30+ MB',
      'pulling python:3.13-slim: 12 of 40 MB',
      'pulling python:3.13-slim: 20 of 40 MB',
      'pulling python:3.13-slim: unpacked 0 of 2 layers',
      'pulling python:3.13-slim: unpacked 1 of 2 layers',
      'pulling python:3.13-slim: unpacked 2 of 2 layers',
    ]);
  });

  it('reports the progress of a pull without a known total', () => {
    const progress = new PullProgress('x');
    progress.take({ status: 'Downloading', id: 'a', progressDetail: { current: 5_000_000, total: -1 } });
    expect(progress.text()).toBe('pulling x: 5 of 5+ MB');
  });

  it('reads the same pull events for every split of the bytes', () => {
    const bytes = Buffer.from(`${recorded.join('\r\n')}\r\n{"status":"gr\u00fc\u00dfe"}\n`);
    for (let size = 1; size < 40; size++) {
      const reader = new PullEventReader();
      const events = [];
      for (let offset = 0; offset < bytes.length; offset += size) {
        events.push(...reader.feed(bytes.subarray(offset, offset + size)));
      }
      expect(events).toEqual([...recorded.map((line) => JSON.parse(line)), { status: 'gr\u00fc\u00dfe' }]);
    }
  });

  it('refuses an endless line of pull events', () => {
    const reader = new PullEventReader();
    expect(() => {
      for (let count = 0; count < 30; count++) {
        [...reader.feed(Buffer.alloc(64 * 1024, 'x'))];
      }
    }).toThrow(/without an end/);
  });
});
