/** What arrived in the world of a test, or at the baits on its gateway. */
export type Arrival =
  | { kind: 'connection'; port: number; address: string }
  | { kind: 'tls-name'; port: number; name: string }
  | { kind: 'request'; port: number; host: string; method: string; url: string; headers: Readonly<Record<string, string>> }
  | { kind: 'bytes'; port: number; text: string }
  | { kind: 'datagram'; port: number; text: string }
  | { kind: 'question'; name: string; type: string };

/** What the name server says about one name: the chain of names it leads through, and the addresses at the end. None at all: no such name. */
export interface NameAnswer {
  through?: readonly string[];
  addresses: readonly string[];
  /** Types of questions that get no answer. */
  silent?: readonly string[];
  /** The server says that it does not answer for this name. */
  refused?: boolean;
}

/** What the test asks of the process that is the world or holds the gateway's namespace. */
export type Order =
  /** Its interfaces are up. */
  | { order: 'listen' }
  | { order: 'take-arrivals' }
  | { order: 'count-packets' }
  /** Makes a port of this namespace's loopback lead to the socket at a path, which is the same in every network namespace. */
  | { order: 'lead-port'; port: number; path: string }
  /** The answers to successive look-ups of a name. The last one stays. */
  | { order: 'answer-name'; name: string; answers: readonly NameAnswer[] };

export interface OrderMessage {
  id: number;
  order: Order;
}

export interface AnswerMessage {
  id: number;
  answer: unknown;
}

export class Arrivals {
  #arrivals: Arrival[] = [];

  add(arrival: Arrival): void {
    this.#arrivals.push(arrival);
  }

  take(): Arrival[] {
    return this.#arrivals.splice(0);
  }
}
