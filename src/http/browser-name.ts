const browsers = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)\S* .*\bSafari\//],
] as const;

const systems = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
] as const;

const maxCharacters = 60;

/** The name that a browser gives itself, in words: `Firefox 140 on Linux`. It may claim to be another one. */
export function browserName(userAgent: string): string {
  // Every one of them claims to be some of the others; the most particular claim comes first.
  const text = userAgent.slice(0, 500);
  for (const [name, pattern] of browsers) {
    const version = pattern.exec(text)?.[1];
    if (version === undefined) continue;
    const system = systems.find(([, sign]) => sign.test(text))?.[0];
    return `${name} ${version.slice(0, 5)}${system === undefined ? '' : ` on ${system}`}`;
  }
  return (
    text
      .replace(/[^\x20-\x7e]/g, ' ')
      .trim()
      .slice(0, maxCharacters) || 'unknown'
  );
}
