// Text from outside the page.

/**
 * Characters that a browser does not show: it hides them, or they change the order of the text.
 *
 * MIRRORS: crates/kube-objects/src/text.rs, `is_invisible`.
 */
export const INVISIBLE =
  /[\p{Cc}\u{ad}\u{61c}\u{180e}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{feff}\u{fff9}-\u{fffb}\u{e0000}-\u{e007f}]/gu;

/** The text with these characters escaped, except for line breaks. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (it) => (it === "\n" ? it : `\\u{${it.codePointAt(0)?.toString(16)}}`));
}

/** `1 node`, `2 nodes`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
