/** What stands in the place of a secret. */
const replacement = '[redacted]';

/** Shorter ones are found in half of all texts. */
const leastLength = 6;

/**
 * Formats that are secrets wherever they stand, each beginning in a way nothing else does. Security: whoever prints a
 * text chooses it, so none of them may take time that grows faster than the text.
 */
const formats: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)/g,
  /\bgh[pousr]_[A-Za-z0-9]{30,}\b/g,
  /\bgithub_pat_[A-Za-z0-9_]{40,}\b/g,
  /\bglpat-[A-Za-z0-9_-]{20,}/g,
  /\bsk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{20,}/g,
  /\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}\b/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\bxapp-\d-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{35}/g,
  /\bya29\.[A-Za-z0-9_-]{20,}/g,
  /\b\d{8,10}:[A-Za-z0-9_-]{35}\b/g,
  /\b[MNO][A-Za-z\d_-]{23,25}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,}\b/g,
  /\bSG\.[A-Za-z0-9_-]{16,128}\.[A-Za-z0-9_-]{16,}/g,
  /\bnpm_[A-Za-z0-9]{36}\b/g,
  /\bpypi-[A-Za-z0-9_-]{50,}/g,
  /\bhf_[A-Za-z0-9]{30,}\b/g,
  /\bdop_v1_[a-f0-9]{64}\b/g,
  /\bgsk_[A-Za-z0-9]{20,}\b/g,
  /\beyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,4096}/g,
  /(?<=\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]{0,64}:)[^\s:@/]{3,}(?=@)/g,
];

/** Stands in each of them, and in few short texts: looking for one thing is faster than for all of them. */
const inEveryFormat = /[-_.:]|A(?:KIA|SIA|Iza)/;

const header = /(\bauthorization:\s*(?:bearer|basic|token)\s+)[A-Za-z0-9+/=._~-]{8,}/gi;

/**
 * A function that takes secrets out of a text: these values wherever they stand, also in base64, and whatever has the format of a token.
 */
export function redactor(secrets: Iterable<string>): (text: string) => string {
  const values = new Set<string>();
  for (const secret of secrets) {
    // What shows a secret of several lines may show it line by line.
    for (const part of [secret, ...secret.split('\n')].map((text) => text.trim())) {
      if (part.length < leastLength) continue;
      values.add(part);
      values.add(Buffer.from(part).toString('base64').replace(/=+$/, ''));
      values.add(encodeURIComponent(part));
    }
  }
  // The longest first: one may be the beginning of another.
  const ordered = [...values].sort((a, b) => b.length - a.length);
  const known = ordered.length === 0 ? undefined : new RegExp(ordered.map(escapeRegExp).join('|'), 'g');
  return (text) => {
    if (text.length < leastLength) return text;
    const clean = known ? text.replace(known, replacement) : text;
    if (!inEveryFormat.test(clean)) return clean;
    return formats.reduce((result, format) => result.replace(format, replacement), clean.replace(header, `$1${replacement}`));
  };
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
