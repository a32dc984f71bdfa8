import type { Socket } from 'node:net';
import type { ConnectionAnswer, ConnectionRequest } from '../../src/core/egress.ts';
import type { AskingParts } from '../../src/egress/asking.ts';
import type { Owner } from '../../src/egress/connection-owner.ts';
import type { QuestionLine } from '../../src/egress/question-line.ts';
import { until } from '../until.ts';

interface AskedQuestion {
  mark: string;
  request: ConnectionRequest;
  answer: ((answer: ConnectionAnswer) => void) | undefined;
}

/** The main thread and the processes inside, as a test wants them to be. */
export class FakeLine implements QuestionLine, Pick<AskingParts, 'line' | 'owners'> {
  readonly line = this;
  readonly owners = this;
  /** Of the next connections. */
  mark = '1000000000000001';
  owned = 0;
  /** Until then no owner is found. */
  ownersKnown: Promise<void> = Promise.resolve();
  readonly questions: AskedQuestion[] = [];
  readonly left: string[] = [];

  async ownerOf(): Promise<Owner> {
    this.owned += 1;
    await this.ownersKnown;
    return { mark: this.mark, program: 'test' };
  }

  async abandoned(): Promise<Socket[]> {
    return [];
  }

  async onlyCommand(): Promise<string | undefined> {
    return undefined;
  }

  async decide(mark: string, request: ConnectionRequest, { left }: { left?: AbortSignal }): Promise<ConnectionAnswer> {
    left?.addEventListener('abort', () => this.left.push(request.host));
    return await new Promise((answer) => this.questions.push({ mark, request, answer }));
  }

  async asked(host: string): Promise<void> {
    await until(`${host} is asked about`, () => this.#find(host) !== undefined);
  }

  /** Answers the oldest question of the command about a host. */
  answer(host: string, answer: ConnectionAnswer): void {
    const found = this.#find(host);
    if (!found) throw new Error(`${host} is not asked about`);
    found.answer?.(answer);
    found.answer = undefined;
  }

  #find(host: string): AskedQuestion | undefined {
    return this.questions.find((one) => one.request.host === host && one.mark === this.mark && one.answer);
  }
}
