import type { Deliveries } from '../../../src/core/set-aside.ts';

/** As a store keeps what is tried and what is set aside. */
export class Kept implements Deliveries {
  readonly aside: Parameters<Deliveries['setAside']>[0][] = [];
  readonly tries = new Map<string, number>();

  async trying(ids: readonly string[], open: readonly string[]): Promise<Map<string, number | undefined>> {
    for (const id of [...this.tries.keys()]) if (!ids.includes(id) && !open.includes(id)) this.tries.delete(id);
    return new Map(
      ids.map((id) => {
        const before = this.tries.get(id) ?? 0;
        this.tries.set(id, before + 1);
        return [id, this.aside.some((one) => one.id === id) ? undefined : before];
      }),
    );
  }

  async setAside(delivery: Kept['aside'][number]): Promise<void> {
    this.aside.push(delivery);
  }
}
