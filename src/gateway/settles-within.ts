/** False when it takes longer. */
export async function settlesWithin(work: Promise<void>, ms: number): Promise<boolean> {
  const patience = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => patience.resolve(false), ms);
  const isSettled = await Promise.race([work.then(() => true), patience.promise]);
  clearTimeout(timer);
  return isSettled;
}
