import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';
import { Scrolling } from './scrolling.tsx';
import { callKey } from './timeline.ts';
import type { Call } from './wire.ts';

const marks = { done: 'check', failed: 'cross', answered: 'dot', interrupted: 'cross' } as const;
const reasons: Readonly<Record<NonNullable<Call['reason']>, string>> = {
  ...{ denied: 'denied', interrupted: 'stopped', timeout: 'timed out', signaled: 'killed', lost: 'lost' },
  ...{ failed: 'failed', 'bad-input': 'bad input', 'unknown-tool': 'unknown tool' },
};

/** One tool call: open while it runs, closed when it is done, unless the person toggles it. */
export const ToolCard = memo(({ call }: { call: Call }) => {
  const [choice, setChoice] = useState<boolean>();
  const isOpen = choice ?? call.state === 'running';
  const body = `call-${callKey(call)}`;
  const main = mainInput(call.input);
  const note = call.waiting ?? noteOf(call);
  return (
    <fieldset class={`tool ${call.state}`} aria-label={`${call.tool}: ${call.waiting ?? stateOf(call)}`}>
      <button type="button" class="tool-head" aria-expanded={isOpen} aria-controls={body} onClick={() => setChoice(!isOpen)}>
        <span class="tool-state">{call.state === 'running' ? <span class="spinner" /> : <Icon name={marks[call.state]} />}</span>
        <span class="tool-name">{call.tool}</span>
        <span class="tool-summary">{main.split('\n')[0]}</span>
        {note !== '' && <span class="tool-note">{note}</span>}
        <Icon name="chevron" />
      </button>
      {isOpen && (
        <div id={body} class="tool-body">
          <pre class="tool-input">{main}</pre>
          <Output text={call.output} isRunning={call.state === 'running'} />
        </div>
      )}
    </fieldset>
  );
});

function stateOf(call: Call): string {
  const note = noteOf(call);
  return note === '' || note === call.state ? call.state : `${call.state}, ${note}`;
}

/** The part of its outcome that a mark does not show. */
function noteOf({ state, exitCode, reason }: Call): string {
  if (exitCode !== undefined) return `exit code ${exitCode}`;
  if (state === 'interrupted') return 'interrupted';
  return state === 'failed' ? reasons[reason ?? 'failed'] : '';
}

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
