/** More different results than this are not kept. */
const maxResults = 20;

/** Makes each result once. For what few different arguments are given to, and takes long to make. */
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
