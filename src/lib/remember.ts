/** More different results than this are not kept. */
const maxResults = 20;

/** Caches the results of a slow function that is called with few different arguments. */
export function remember<Arguments extends readonly (string | number | undefined)[], Result>(
  make: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  const results = new Map<string, Result>();
  return (...given) => {
    const key = JSON.stringify(given);
    const known = results.get(key);
    if (known !== undefined) return known;
    if (results.size >= maxResults) results.clear();
    const result = make(...given);
    results.set(key, result);
    return result;
  };
}
