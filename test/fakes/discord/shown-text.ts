/** What readers see of a text in Discord's Markdown: the few forms that bots of ours write. */
export function shownText(source: string): string {
  const kept: string[] = [];
  const keep = (text: string): string => `\ue000${kept.push(text) - 1}\ue001`;
  const shown = source
    .replace(/```(?:[\w+#.-]*\n)?([\s\S]*?)\n?```/g, (_, code: string) => keep(code))
    .replace(/(`+)([\s\S]*?[^`])\1(?!`)/g, (_, __, code: string) => keep(code.trim()))
    .replace(/\\([^0-9A-Za-z\s])/g, (_, sign: string) => keep(sign))
    .replace(/\[([^\]]*)\]\(<([^>]*)>\)/g, (_, label: string) => label)
    .replace(/<(https?:[^>]*|mailto:[^>]*)>/g, (_, href: string) => keep(href))
    .replace(/^(?:#{1,3}|>) /gm, '')
    .replace(/\*\*|~~|\*|__|_/g, '');
  let result = shown;
  while (/\ue000\d+\ue001/.test(result)) result = result.replace(/\ue000(\d+)\ue001/g, (_, index: string) => kept[Number(index)] ?? '');
  return result;
}
