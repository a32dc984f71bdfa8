interface Element {
  type: string;
  text?: string;
  url?: string;
}

interface Part {
  type: string;
  style?: string;
  indent?: number;
  offset?: number;
  elements: (Element & { elements?: Element[] })[];
}

/** What readers see of the blocks of a message. */
export function shownText(blocks: unknown): string {
  const rich = (Array.isArray(blocks) ? blocks : []) as { type: string; elements: Part[] }[];
  return rich
    .filter(({ type }) => type === 'rich_text')
    .flatMap(({ elements }) => elements.map(partText))
    .join('\n');
}

function partText({ type, style, indent = 0, offset = 0, elements }: Part): string {
  if (type !== 'rich_text_list') return elementsText(elements);
  return elements
    .map(
      (item, index) => `${'  '.repeat(indent)}${style === 'ordered' ? `${offset + index + 1}.` : '•'} ${elementsText(item.elements ?? [])}`,
    )
    .join('\n');
}

function elementsText(elements: readonly Element[]): string {
  return elements.map(({ text, url }) => text ?? url ?? '').join('');
}
