/** Everything that is an order to a terminal, does not show, or turns the direction of writing; and spaces that only look like one. */
const unseen = /[^\P{C}\n]|[\p{Zl}\p{Zp}]|[^\P{Zs} ]/gu;

/** Text as it is, with what does not show made visible, so that nobody agrees to what they cannot see. Lines stay lines. */
export function visible(text: string, mark: (sign: string) => string = (sign) => sign): string {
  return text.replace(unseen, (character) => {
    const number = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return character === '\t' ? character : mark(`⟨U+${number}⟩`);
  });
}
