import { afterEach, beforeEach, expect } from 'vitest';
import type { Channel, IncomingMessage } from '../../../src/core/channel.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { until } from '../../until.ts';
import { type SlackHarness, slackChannel, slackHarness } from './harness.ts';

/** A server, a channel that listens to it, and what it accepted, anew for each test. Nothing may be left unhandled. */
class ListeningRig {
  harness!: SlackHarness;
  channel!: Channel;
  accepted!: Accepted;

  make(more: Parameters<typeof slackChannel>[3] = {}): Channel {
    return slackChannel(this.harness.slack, this.harness.notes, (sentence) => this.harness.log.push(sentence), more);
  }

  /** What was said before it began is read at the beginning, and forgotten here. */
  async start(): Promise<void> {
    await this.channel.start(this.accepted.accept);
    this.says('first');
    await this.hears('first');
    await until('it is confirmed', () => this.harness.unconfirmed() === 0);
    this.accepted.all.length = 0;
  }

  says(text: string): string {
    return this.harness.userSays(this.harness.direct, { text });
  }

  async hears(text: string): Promise<IncomingMessage> {
    return await this.accepted.message((message) => message.text === text);
  }

  async isUp(): Promise<void> {
    await until('it is up', () => this.channel.state.kind === 'up');
  }

  async downReason(): Promise<string> {
    return await until('it is down', () => (this.channel.state.kind === 'down' ? this.channel.state.reason : undefined));
  }

  /** Slack was told of everything it delivered that it arrived. */
  async isAllAnswered(): Promise<void> {
    const { delivered, answers } = this.harness.slack.sockets;
    await until('all is acknowledged', () => delivered.every(({ id }) => answers.has(id)));
  }
}

export function listeningRig(): ListeningRig {
  const rig = new ListeningRig();
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  beforeEach(async () => {
    rig.harness = await slackHarness();
    rig.channel = rig.harness.create();
    rig.accepted = new Accepted();
    unhandled.length = 0;
    process.on('unhandledRejection', note);
  });
  afterEach(async () => {
    await rig.channel.stop();
    await rig.harness.close();
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
  return rig;
}
