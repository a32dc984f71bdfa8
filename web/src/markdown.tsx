import type { Token, Tokens } from 'marked';
import type { ComponentChildren, JSX } from 'preact';
import { memo } from 'preact/compat';
import { useMemo, useState } from 'preact/hooks';
import { markdownTokens } from '../../src/lib/markdown-tokens.ts';
import { decodeEntities } from './entities.ts';
import { Icon } from './icons.tsx';
import { Scrolling } from './scrolling.tsx';

/** Of one message: what a browser parses within a moment. Ordinary text of the longest answers takes a third. */
const maxSteps = 1_000_000;

/**
 * CommonMark as elements; as it was written when it takes too long to parse. Security: nothing here makes elements of text: HTML in it is shown as it was written, links lead to the web or to
 * mail only, and pictures are links, because loading one would tell its server that it was read.
 */
export const Markdown = memo(({ text }: { text: string }) => {
  const tokens = useMemo(() => markdownTokens(text, { breaks: true, maxSteps }), [text]);
  if (tokens) setLevels(tokens, []);
  return tokens ? <div class="markdown">{blocks(tokens)}</div> : <div class="markdown as-written">{text}</div>;
});

/** Of headings in an answer, whose first is below the heading of the page. */
const levels = new WeakMap<Token, number>();

/** Puts each heading at most one level below the one before it. `above`: the depths of the headings it is under. */
function setLevels(tokens: readonly Token[], above: number[]): void {
  for (const token of tokens) {
    if (token.type === 'heading') {
      while ((above.at(-1) ?? 0) >= (token as Tokens.Heading).depth) above.pop();
      above.push((token as Tokens.Heading).depth);
      levels.set(token, 1 + above.length);
    } else if (token.type === 'list') for (const item of (token as Tokens.List).items) setLevels(item.tokens, above);
    else if (token.type === 'blockquote') setLevels((token as Tokens.Blockquote).tokens, above);
  }
}

function blocks(tokens: readonly Token[] | undefined): ComponentChildren {
  return tokens?.map((token, index) => <Block key={index} token={token} />);
}

function Block({ token }: { token: Token }): JSX.Element | null {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading':
      return <Heading token={token as Tokens.Heading} />;
    case 'code':
      return <CodeBlock text={token.text} language={(token as Tokens.Code).lang ?? ''} />;
    case 'blockquote':
      return <blockquote>{blocks(token.tokens)}</blockquote>;
    case 'list':
      return <List token={token as Tokens.List} />;
    case 'table':
      return <Table token={token as Tokens.Table} />;
    case 'hr':
      return <hr />;
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>;
    case 'text':
      return <>{inline((token as Tokens.Text).tokens) ?? decodeEntities(token.text)}</>;
    default:
      return <p>{token.raw}</p>;
  }
}

function Heading({ token }: { token: Tokens.Heading }): JSX.Element {
  const Tag = `h${Math.min(6, levels.get(token) ?? 2)}` as 'h3';
  return <Tag class={`depth-${token.depth}`}>{inline(token.tokens)}</Tag>;
}

function List({ token }: { token: Tokens.List }): JSX.Element {
  const items = token.items.map((item, index) => (
    <li key={index} class={item.task ? 'task' : undefined}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} disabled />}
      {blocks(item.tokens.filter(({ type }) => type !== 'checkbox'))}
    </li>
  ));
  return token.ordered ? <ol start={token.start === '' ? 1 : token.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ token }: { token: Tokens.Table }): JSX.Element {
  const cell = (Tag: 'th' | 'td') => (one: Tokens.TableCell, index: number) => (
    <Tag key={index} class={one.align ? `align-${one.align}` : undefined}>
      {inline(one.tokens)}
    </Tag>
  );
  return (
    <div class="table">
      <table>
        <thead>
          <tr>{token.header.map(cell('th'))}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>{row.map(cell('td'))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[] | undefined): ComponentChildren {
  return tokens?.map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { token: Token }): JSX.Element {
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens)}</strong>;
    case 'em':
      return <em>{inline(token.tokens)}</em>;
    case 'del':
      return <del>{inline(token.tokens)}</del>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <Link href={(token as Tokens.Link).href}>{inline(token.tokens)}</Link>;
    case 'image':
      return <Link href={(token as Tokens.Image).href}>{token.text || 'picture'}</Link>;
    case 'escape':
      return <>{token.text}</>;
    case 'text':
      return <>{inline((token as Tokens.Text).tokens) ?? decodeEntities(token.text)}</>;
    default:
      return <>{token.raw}</>;
  }
}

function Link({ href, children }: { href: string; children: ComponentChildren }): JSX.Element {
  if (!/^(https?:|mailto:)/i.test(href)) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

function CodeBlock({ text, language }: { text: string; language: string }): JSX.Element {
  const name = language.split(/\s/)[0] ?? '';
  return (
    <figure class={`code${name === '' ? ' plain' : ''}`}>
      <figcaption>
        <span>{name || 'text'}</span>
        <CopyButton text={text} />
      </figcaption>
      <Scrolling>
        <code>{text}</code>
      </Scrolling>
    </figure>
  );
}

function CopyButton({ text }: { text: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" class="quiet copy" onClick={() => void copy()}>
      <Icon name={isCopied ? 'check' : 'copy'} />
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  );
}
