/** What WhatsApp shows of a text: signs at the edges of words mark what is between them, line by line. */
export function shownText(text: string): string {
  const pieces = text.split(/(```[\s\S]+?```|`[^`\n\u200b]+`)/);
  return pieces
    .map((piece, index) => (index % 2 === 1 ? piece.replace(/^`+|`+$/g, '') : withoutMarks(piece)))
    .join('')
    .replaceAll('\u200b', '');
}

function withoutMarks(text: string): string {
  const marked = /(?<![\p{L}\p{N}])([*_~])(?![\s\u200b])([^\n]*?[^\s\u200b])\1(?![\p{L}\p{N}\u200b])/gu;
  let shown = text;
  for (let before = ''; before !== shown; ) {
    before = shown;
    shown = shown.replace(marked, '$2');
  }
  return shown;
}
