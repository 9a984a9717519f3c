// Texts that are not the page's own: of the commands, and of the other device. What a browser would
// hide or turn around is escaped as VisibleText does, and no text changes the direction of another.

const unsafe = /[\0-\x1f\x7f-\xa0\xad\u061c\u115f\u1160\u1680\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d159}\u{e0000}-\u{e0fff}\p{Default_Ignorable_Code_Point}\p{Cn}\p{Co}\p{Cs}]/gu;
const escapes = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
export const escaped = (text) => text.replace(unsafe, (scalar) => escapes[scalar] ?? `\\u{${scalar.codePointAt(0).toString(16)}}`);

function isolated(text, kind) {
  const node = document.createElement("bdi");
  if (kind) node.className = kind;
  node.append(text);
  return node;
}

// A name that this computer has: of its own file, app or program.
export const name = (text) => isolated(escaped(text.replaceAll("\\", "\\\\")));
// A sentence of a command. Names in it are escaped already.
export const told = (text) => isolated(escaped(text));
// A name, a label or a message that the other device has chosen: as a text, and as a quotation.
export const quotation = (text) => `“${escaped(text.replace(/[\\“”]/g, "\\$&"))}”`;
export const said = (text) => isolated(quotation(text), "said");
// Whether a sentence of a command is for a terminal: it has an option or a command.
export const isOfTerminal = (text) => /(^|[\s'(“])(--[a-z]|(peer|sudo|apt|rm|mv|chmod|crontab|runuser|restorecon) [-\w])/.test(text);
