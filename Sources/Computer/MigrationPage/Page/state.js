// What the page knows, by the events of the commands.

import { count, el, rebuild, say, size } from "/elements.js";
import { name as named, isOfTerminal, quotation, said, told } from "/foreign.js";
import { texts as T } from "/texts.js";

// Of the page: the present run, the wanted screen, and what outlives a run: the last choice and causes, what
// was typed, the computer that was chosen, how a move was begun, and the apps that have data here.
export const S = {
  run: null, wanted: null, choices: new Map(), last: new Map(), typed: "", mistake: null, chosen: null, form: {}, next: null, apps: null,
};

const fresh = () => ({
  state: "idle", role: null, found: [], seen: [], unfinished: null, looking: false, lookedOnce: false, addresses: [], port: 0, firewall: null,
  code: null, question: null, inventory: null, chosen: null, plan: null, ends: new Map(), progress: null, speeds: [], left: null, notes: [],
  problems: [], problemCount: 0, paired: null, since: 0, interrupted: null, inUse: null, wrong: null, quarter: 0, done: null, error: null,
  exit: null, apps: [],
});
const joined = (address, port) => (address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`);
export const addressOf = (other) => joined(other.addresses[0], other.port);

export function take(event, call) {
  if (event.event === "assistant") return takeState(event, call);
  const { run } = S;
  if (!run) return;
  switch (event.event) {
    case "receiver": found(run, event); break;
    case "transfer": if (event.home !== undefined && !event.inUse) run.unfinished ??= event; break;
    case "fileApp": if (event.bytes > 0) run.apps.push(event.name); break;
    case "listening": Object.assign(run, { addresses: event.shown.map((address) => (event.port === 47470 ? address : joined(address, event.port))), port: event.port, firewall: event.firewall, since: Date.now() }); break;
    case "connecting": run.since = Date.now(); break;
    case "code": run.code = event; break;
    case "wrongCode": run.wrong = event; say(T.wrongCode(event.from, event.left).join("")); break;
    case "relayed": run.notes.push(() => T.relayed(named(event.relay))); break;
    case "unannounced": note(run, event.reason); break;
    case "notice": note(run, event.message); break;
    case "paired": Object.assign(run, { paired: event, question: null, notes: [] }); break;
    case "inventory": run.inventory = event; run.chosen = new Set(event.entries.filter(isChosen).map((entry) => entry.number)); break;
    case "measured": Object.assign(run.inventory.entries[event.number - 1], { items: event.items, bytes: event.bytes, crossing: event.crossingBytes }); break;
    case "question": asked(run, event); break;
    case "withdrawn": if (run.question?.number === event.number) run.question = null; break;
    case "plan": run.plan = event.parts; break;
    case "offer": run.plan ??= [{ part: event.app ? event.app.bundleIdentifier : event.roots.map((root) => root.name).join(", "), bytes: event.bytes }]; break;
    case "part": if (!event.root) ended(run, event); else problem(run, event.root, () => why(event)); break;
    case "appInUse": run.inUse = event.user ? event : null; break;
    case "progress": progress(run, event); break;
    case "interrupted": run.interrupted = event; break;
    case "resumed": Object.assign(run, { interrupted: null, question: null, problems: [], problemCount: 0, resumed: true }); break;
    case "notStored": problem(run, event.path, () => [T.reasons[event.reason] ?? T.reasons.other, event.message ? [" (", told(event.message), ")"] : []].flat(2)); break;
    case "renamed": problem(run, event.path, () => T.arrivedAs(itsName(event.arrivedAs))); break;
    case "done": run.done = event; break;
    case "error": run.error = event; break;
  }
}
function found(run, other) {
  if (!run.found.some((known) => known.instance === other.instance)) say(T.foundOne(quotation(other.label)));
  run.seen.push(other);
  run.found = run.found.filter((known) => known.instance !== other.instance).concat(other);
}
// What the user of this page chose last counts more than what a command proposes.
const keyOf = (entry) => entry.identifier ?? entry.name;
const isChosen = (entry) => S.choices.get(keyOf(entry)) ?? entry.chosen;
export const remember = (entries, chosen) => { for (const entry of entries) S.choices.set(keyOf(entry), chosen.has(entry.number)); };
// A sentence of a command. Those for a terminal, with options and commands, are not for this page.
function note(run, text) { if (!isOfTerminal(text)) run.notes.push(() => told(text)); }

// What stands on the screen is what is answered: each question about another device builds its screen anew.
function asked(run, event) {
  run.question = event;
  if (event.about === "consent") run.chosen = new Set(event.parts.filter((part) => ticks("files")(part) || !has("files")(part)).map((part) => part.number));
  if (event.about === "choice") run.chosen = new Set(run.inventory.entries.filter((entry) => event.continues ? entry.chosen : isChosen(entry)).map((entry) => entry.number));
  if (event.about !== "choice") rebuild();
}
export const has = (kind) => (part) => part.classes.includes(kind);
export const ticks = (kind) => (part) => part.ticked.includes(kind);

function takeState(event, call) {
  document.getElementById("name").replaceChildren(T.thisIs, named(event.label));
  const { run } = S;
  if (event.state === "listed") { S.apps = run.apps; return; }
  if (event.state === "looked") { Object.assign(run, { looking: false, lookedOnce: true }); if (run.state === "idle") run.found = run.seen; return; }
  if (event.state === "ended") return takeEnd(run, event.code, call);
  S.run = fresh();
  Object.assign(S.run, { state: event.state, role: event.role || null });
  if (event.state === "running") S.wanted = null;
  if (run?.state === "idle" && event.state === "idle") {
    Object.assign(S.run, { found: run.found, unfinished: run.unfinished, looking: run.looking, lookedOnce: run.lookedOnce });
  }
}
function takeEnd(run, exit, call) {
  Object.assign(run, { state: "ended", exit, question: null });
  for (const end of run.ends.values()) if (end.state === "failed") S.last.set(end.part, end); else S.last.delete(end.part);
  // The wish to begin in another way, and an address that nobody answers at, are no reports.
  if (S.next) return call("leave").then(() => { const { next } = S; S.next = null; if (next) call(next.role, S.form = next.form); });
  if (run.role === "send" && !run.inventory && ["unreachable", "usage"].includes(run.error?.cause)) {
    Object.assign(S, { mistake: run.error.cause, wanted: "send" });
    return call("leave");
  }
}
function ended(run, end) {
  run.ends.set(end.number, end);
  if (run.inUse?.app === end.part) run.inUse = null;
  if (run.progress) say(T.partEnded(quotation(end.part), stateOf(end)));
}
function problem(run, name, form) { run.problemCount += 1; if (run.problems.length < 200) run.problems.push([name, form]); }
// The old computer's user knows the names; on the new one, the other device has chosen them.
export const itsName = (text) => (S.run.role === "receive" ? said : named)(text);
export const stateOf = (end) => T.states[end.declined ? "declined" : end.state];

function progress(run, event) {
  const now = Date.now();
  if (run.progress?.bytes !== event.bytes || run.progress.phase !== event.phase) run.movedAt = now;
  Object.assign(run, { progress: event, interrupted: null });
  if (!run.speeds.length || now - run.speeds.at(-1)[0] >= 1000) run.speeds = [...run.speeds.slice(-239), [now, event.bytesPerSecond]];
  // The time left counts down by itself, and follows the estimate slowly.
  if (event.secondsLeft === null) run.left = null;
  else if (run.left === null) run.left = [now, event.secondsLeft];
  else run.left = [now, Math.max(0, (run.left[1] - (now - run.left[0]) / 1000) * 0.95 + event.secondsLeft * 0.05)];
  const quarter = Math.floor(4 * (fraction(run) ?? 0));
  if (quarter > run.quarter && quarter < 4) say(T.percent(25 * quarter));
  run.quarter = Math.max(quarter, run.quarter);
}
// How much of the whole move is done, from 0 to 1; null if that is not known.
export const fraction = (run) => (run.progress?.totalBytes ? Math.min(1, run.progress.bytes / run.progress.totalBytes) : null);

// Causes

const own = /Firefox\//.test(navigator.userAgent) ? /firefox/i : /Edg\//.test(navigator.userAgent) ? /edge/i
  : /OPR\//.test(navigator.userAgent) ? /opera/i : /chrom|brave|vivaldi/i;
// Whether the program that uses an app's data is the browser of this page.
export const showsThisPage = (user) => own.test(user.split(",")[0]);
export const programOf = (user) => named(user.split(",")[0]);

// The cause of a failure in this page's words; only for an unknown one of the other device, in its own.
export function why(failure) {
  const isReceiver = S.run.role === "receive";
  const at = failure.there ? (isReceiver ? T.onOld : T.onNew) : T.here;
  const sentence = T.causes[failure.cause]?.(at, isReceiver);
  if (!sentence) return failure.there ? T.otherSays(said(failure.message)) : [isOfTerminal(failure.message) ? T.unknown : told(failure.message)];
  const room = failure.neededBytes > failure.availableBytes ? T.needs(size(failure.neededBytes), size(failure.availableBytes)) : null;
  const items = failure.neededItems > failure.availableItems ? T.needsItems(count(failure.neededItems), count(failure.availableItems)) : null;
  return [sentence, failure.name ? [" (", (failure.there ? itsName : named)(failure.name), ")"] : [], room ?? items ?? [], "."].flat();
}
export const help = (failure) => T.help[failure.cause] ?? null;
export const notes = () => (S.run.notes.length ? el("div", { class: "box" }, ...S.run.notes.slice(-5).map((one) => el("p", {}, one()))) : "");
