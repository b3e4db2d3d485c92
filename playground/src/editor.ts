// A YAML editor in a shadow root. There, CodeMirror uses adopted style sheets, which the page's Content-Security-Policy
// allows, instead of style elements, which it forbids.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Range } from "./manifest";
import { INVISIBLE } from "./text";

/** A part of the text to underline. */
export interface Mark extends Range {
  level: "deny" | "warn" | "carried";
}

export interface Editor {
  readonly text: string;
  /** Replaces the text as a single step that can be undone. */
  replace(text: string): void;
  mark(marks: Mark[]): void;
  lineOf(range: Range): number;
  /** Moves the focus to a part of the text. */
  reveal(range: Range): void;
}

const setMarks = StateEffect.define<Mark[]>();

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setMarks)) {
        const ranges = effect.value.flatMap(({ from, to, level }) => {
          const line = transaction.state.doc.lineAt(Math.min(from, transaction.state.doc.length));
          const end = Math.min(to, line.to);
          return end > from ? [Decoration.mark({ class: `mark-${level}` }).range(from, end)] : [];
        });
        return Decoration.set(ranges, true);
      }
    }
    return set.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--field)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "6px 0" },
  ".cm-gutters": { color: "var(--muted)", backgroundColor: "var(--field)", border: "none" },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-specialChar": { color: "var(--deny)" },
  ".mark-deny, .mark-warn, .mark-carried": {
    textDecoration: "underline wavy var(--deny) 1px",
    textUnderlineOffset: "3px",
    textDecorationSkipInk: "none",
  },
  ".mark-warn": { textDecorationColor: "var(--warn)" },
  ".mark-carried": { textDecorationColor: "var(--muted)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--muted)" },
  { tag: [tags.punctuation, tags.separator, tags.meta], color: "var(--muted)" },
]);

export function createEditor(parent: HTMLElement, label: string, hint: string, changed: () => void): Editor {
  const root = parent.attachShadow({ mode: "open" });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      extensions: [
        lineNumbers(),
        history(),
        highlightSpecialChars({ addSpecialChars: INVISIBLE }),
        yaml(),
        syntaxHighlighting(colours),
        placeholder(hint),
        // Tab is not bound, so it moves the focus out of the editor.
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({
          "aria-label": label,
          // The element is focusable without this, but axe-core does not detect that.
          tabindex: "0",
          spellcheck: "false",
          autocapitalize: "off",
        }),
        // Chromium would replace a fully selected line by an element with a style attribute, which the page's
        // Content-Security-Policy forbids.
        EditorView.domEventHandlers({
          beforeinput(event, view) {
            const { data, inputType, isComposing } = event;
            if (inputType !== "insertText" || !data || isComposing || view.state.selection.main.empty) return false;
            view.dispatch(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
            event.preventDefault();
            return true;
          },
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed();
        }),
        marks,
        theme,
      ],
    }),
  });
  const within = ({ from, to }: Range) => ({
    from: Math.min(from, view.state.doc.length),
    to: Math.min(to, view.state.doc.length),
  });
  return {
    get text() {
      return view.state.doc.toString();
    },
    replace(text) {
      if (text !== this.text) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    mark(marks) {
      view.dispatch({ effects: setMarks.of(marks.map((mark) => ({ ...mark, ...within(mark) }))) });
    },
    lineOf(range) {
      return view.state.doc.lineAt(within(range).from).number;
    },
    reveal(range) {
      const { from } = within(range);
      const to = Math.min(within(range).to, view.state.doc.lineAt(from).to);
      view.dispatch({
        selection: { anchor: from, head: to },
        effects: EditorView.scrollIntoView(from, { y: "center" }),
      });
      view.focus();
    },
  };
}
