import type { ComponentChildren } from 'preact';
import { piecesOf } from './visible.ts';

/** Longest text of somebody else that is shown, in characters. */
const LONGEST = 50_000;

interface SaidProps {
  readonly text: string;
  readonly most?: number;
}

/** A text of somebody else: text and nothing more, whatever is in it. What cannot be seen is named in its place. */
export function Said({ text, most = LONGEST }: SaidProps) {
  const shown = piecesOf(text.slice(0, most)).map((piece, at) =>
    typeof piece === 'string' ? (
      piece
    ) : (
      <span key={at} class="mark">
        {piece.code}
      </span>
    ),
  );
  return (
    <bdi>
      {shown}
      {text.length > most && <span class="mark">{text.length - most} more characters</span>}
    </bdi>
  );
}

/** A value as JSON; `label` names the region, which can be scrolled with the keyboard. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  return <Block text={JSON.stringify(value, undefined, 2) ?? ''} label={label} />;
}

/** A long text of somebody else, its lines kept. */
export function Block({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <pre class="block" role="region" aria-label={label} tabIndex={0}>
      <Said text={text} />
    </pre>
  );
}

/** A term and what is said of it, for use in a list of descriptions. */
export function Fact({ term, children }: { readonly term: string; readonly children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Text with a colour of its own; the words carry the meaning. */
export function Badge({ tone, children }: { readonly tone: string; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
