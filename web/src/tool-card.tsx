import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';
import { Scrolling } from './scrolling.tsx';
import { callKey } from './timeline.ts';
import type { Call } from './wire.ts';

const stateWords = { running: 'running', ok: 'done', failed: 'failed', interrupted: 'interrupted' } as const;

/** One tool call: open while it runs, closed when it is done, unless the person toggles it. */
export const ToolCard = memo(({ call }: { call: Call }) => {
  const [choice, setChoice] = useState<boolean>();
  const isOpen = choice ?? call.state === 'running';
  const body = `call-${callKey(call)}`;
  const main = mainInput(call.input);
  return (
    <section class={`tool ${call.state}`} aria-label={`${call.tool}: ${call.waiting ?? stateWords[call.state]}`}>
      <button type="button" class="tool-head" aria-expanded={isOpen} aria-controls={body} onClick={() => setChoice(!isOpen)}>
        <span class="tool-state">
          {call.state === 'running' ? <span class="spinner" /> : <Icon name={call.state === 'ok' ? 'check' : 'cross'} />}
        </span>
        <span class="tool-name">{call.tool}</span>
        <span class="tool-summary">{main.split('\n')[0]}</span>
        {call.waiting !== undefined && <span class="tool-note">{call.waiting}</span>}
        {call.state === 'interrupted' && <span class="tool-note">{stateWords.interrupted}</span>}
        <Icon name="chevron" />
      </button>
      {isOpen && (
        <div id={body} class="tool-body">
          <pre class="tool-input">{main}</pre>
          <Output text={call.output} isRunning={call.state === 'running'} />
        </div>
      )}
    </section>
  );
});

function Output({ text, isRunning }: { text: string; isRunning: boolean }): JSX.Element | null {
  const element = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (element.current) element.current.scrollTop = element.current.scrollHeight;
  }, [text]);
  if (text === '' && !isRunning) return null;
  return (
    <Scrolling class="tool-output" element={element}>
      {text}
      {isRunning && <span class="cursor" />}
    </Scrolling>
  );
}

/** What a person wants to see of the input: the command, the code, the path. */
function mainInput(input: unknown): string {
  if (typeof input === 'string') return input;
  if (typeof input !== 'object' || input === null) return '';
  const fields = input as Readonly<Record<string, unknown>>;
  for (const name of ['command', 'code', 'path', 'file', 'pattern', 'query']) {
    const value = fields[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  const text = JSON.stringify(input, undefined, 2);
  return text === '{}' ? '' : text;
}
