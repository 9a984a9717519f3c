import { name as named, quotation, said, told } from "/foreign.js";
import { texts as T } from "/texts.js";

// Helpers

const main = document.getElementById("main");
const spoken = document.getElementById("spoken");

function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in node && typeof value !== "string") node[key] = value;
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}
const button = (text, run, kind = "") => el("button", { type: "button", class: kind, onclick: run }, text);
const say = (text) => { if (spoken.textContent !== text) spoken.textContent = text; };

function size(bytes) {
  let unit = 0;
  while (bytes >= 1000 && unit < T.units.length - 1) { bytes /= 1000; unit += 1; }
  return `${unit === 0 || bytes >= 100 ? Math.round(bytes) : bytes.toFixed(1)} ${T.units[unit]}`;
}
function time(seconds) {
  if (seconds < 60) return T.seconds(Math.max(1, Math.round(seconds)));
  if (seconds < 3600) return T.minutes(Math.round(seconds / 60));
  return T.hours(Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60));
}
const count = (number) => number.toLocaleString();

// The connection. The address has a ticket for one use; the secret is this page's.

let secret = sessionStorage.getItem("secret");

// A browser drops the requests that begin while an address of the computer changes, such as a VPN's:
// each is made again, and has its effect once.
async function ask(name, options) {
  for (let pause = 50; ; pause *= 2) {
    const answer = await fetch(`/${name}`, options).catch(() => null);
    if (answer || pause > 2000) return answer;
    await new Promise((goOn) => setTimeout(goOn, pause));
  }
}
async function call(name, form = {}) {
  const body = Object.entries(form).map(([key, value]) => `${key}=${value}`).join("\n");
  const answer = await ask(name, { method: "POST", headers: { "X-Peer-Secret": secret }, body });
  if (!answer) lost();
  return answer;
}

async function begin() {
  const ticket = location.hash.slice(1);
  if (ticket) {
    history.replaceState(null, "", "/");
    const answer = await ask("exchange", { method: "POST", headers: { "X-Peer-Ticket": ticket } });
    if (answer && answer.ok) sessionStorage.setItem("secret", secret = await answer.text());
  }
  if (!secret) return lost();
  const answer = await ask("events", { headers: { "X-Peer-Secret": secret } });
  if (!answer || !answer.ok) return lost();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const piece = await reader.read().catch(() => ({ done: true }));
    if (piece.done) return lost();
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
    schedule();
  }
}
function lost() {
  run = null;
  show("lost", () => [heading(T.closed), el("p", {}, T.closedHelp)]);
}
addEventListener("hashchange", () => location.reload());

// What is known, by the events

let run = null;
const fresh = () => ({
  state: "idle", role: null, found: [], seen: [], unfinished: null, looking: false, lookedOnce: false, addresses: [], code: null, question: null,
  inventory: null, chosen: null, plan: null, ends: new Map(), progress: null, speeds: [], left: null, notes: [], problems: [], problemCount: 0,
  paired: null, advice: null, since: 0, interrupted: null, done: null, error: null, exit: null, known: false,
});

function take(event) {
  if (event.event === "assistant") return takeState(event);
  if (!run) return;
  switch (event.event) {
    case "receiver": run.seen.push(event); run.found = run.found.filter((other) => other.instance !== event.instance).concat(event); break;
    case "transfer": if (event.home !== undefined && !event.inUse) run.unfinished ??= event; break;
    case "listening": run.addresses = event.addresses.map((address) => (event.port === 47470 ? address : joined(address, event.port))); run.advice = event.advice; run.since = Date.now(); break;
    case "connecting": run.advice = event.advice; run.since = Date.now(); break;
    case "code": run.code = event; break;
    case "wrongCode": run.notes.push(() => T.wrongCode(named(event.from), event.left)); break;
    case "relayed": run.notes.push(() => T.relayed(named(event.relay))); break;
    case "unannounced": run.notes.push(() => told(event.reason)); break;
    case "unconfined": case "notice": run.notes.push(() => told(event.message)); break;
    case "paired": run.paired = event; run.question = null; break;
    case "inventory": run.inventory = event; run.chosen = new Set(event.entries.filter((entry) => entry.chosen).map((entry) => entry.number)); break;
    case "measured": Object.assign(run.inventory.entries[event.number - 1], { items: event.items, bytes: event.bytes }); break;
    case "question": asked(event); break;
    case "withdrawn": if (run.question?.number === event.number) run.question = null; break;
    case "plan": run.plan = event.parts; break;
    case "offer": run.plan ??= [{ part: event.app ? event.app.bundleIdentifier : event.roots.map((root) => root.name).join(", "), bytes: event.bytes }]; break;
    case "part": if (!event.root) run.ends.set(event.number, event); else problem(event.part, event.message); break;
    case "progress": progress(event); break;
    case "interrupted": run.interrupted = event.reason; break;
    case "resumed": run.interrupted = null; run.question = null; run.problems = []; run.problemCount = 0; run.resumed = true; break;
    case "notStored": problem(event.path, event.message || event.reason); break;
    case "renamed": problem(event.path, event.arrivedAs, itsName); break;
    case "done": run.done = event; break;
    case "error": run.error = event; break;
  }
}
// What stands on the screen is what is answered: each question about another device builds its screen anew.
function asked(event) {
  run.question = event;
  if (event.about === "consent") run.chosen = ticked(event);
  if (event.about !== "choice") current = "";
}
function takeState(event) {
  document.getElementById("name").replaceChildren(T.thisIs, named(event.label));
  if (event.state === "looked") { Object.assign(run, { looking: false, lookedOnce: true }); if (run.state === "idle") run.found = run.seen; return; }
  if (event.state === "ended") { Object.assign(run, { state: "ended", exit: event.code, question: null }); return; }
  const former = run;
  run = fresh();
  Object.assign(run, { state: event.state, role: event.role || null });
  if (event.state === "running") wanted = null;
  if (former?.state === "idle" && event.state === "idle") {
    Object.assign(run, { found: former.found, unfinished: former.unfinished, looking: former.looking, lookedOnce: former.lookedOnce });
  }
}
const joined = (address, port) => (address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`);
function problem(name, why, form = told) { run.problemCount += 1; if (run.problems.length < 200) run.problems.push([name, why, form]); }
// The old computer's user knows the names; on the new one, the other device has chosen them.
const itsName = (text) => (run.role === "receive" ? said : named)(text);
const has = (kind) => (part) => part.classes.includes(kind);
const ticks = (kind) => (part) => part.ticked.includes(kind);
const ticked = (question) => new Set(question.parts.filter((part) => ticks("files")(part) || !has("files")(part)).map((part) => part.number));
function progress(event) {
  run.progress = event;
  run.interrupted = null;
  const now = Date.now();
  if (!run.speeds.length || now - run.speeds.at(-1)[0] >= 1000) run.speeds = [...run.speeds.slice(-239), [now, event.bytesPerSecond]];
  // The time left counts down by itself, and follows the estimate slowly.
  if (event.secondsLeft === null) run.left = null;
  else if (run.left === null) run.left = [now, event.secondsLeft];
  else run.left = [now, Math.max(0, (run.left[1] - (now - run.left[0]) / 1000) * 0.95 + event.secondsLeft * 0.05)];
}

// Screens. A screen is built once, and changed in place after that, so that the focus stays.

let current = null;
let update = () => {};
let wanted = null;
let isScheduled = false;

function schedule() {
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(() => { isScheduled = false; render(); }, 50);
}
const heading = (text) => el("h1", { tabindex: "-1" }, text);
function show(name, build) {
  if (current !== name) {
    const isFirst = current === null;
    current = name;
    update = () => {};
    main.replaceChildren(...build());
    const title = main.querySelector("h1");
    document.title = `${title.textContent} – ${T.title}`;
    if (!isFirst) title.focus();
    scrollTo(0, 0);
  }
  update();
}
function render() {
  if (!run) return;
  if (run.state === "ended") return show("report", report);
  if (run.state === "idle") {
    if (wanted === "send") return show("find", find);
    if (wanted === "receive") return show("prepare", prepare);
    return show("start", start);
  }
  if (run.question?.about === "consent") return show("consent", consent);
  if (run.question?.about === "secrets") return show("secrets", secrets);
  if (run.question?.about === "removed") return show("removed", removed);
  if (run.question?.about === "code") return show("code", code);
  if (run.question?.about === "token") return show("token", token);
  if (run.paired || run.plan || run.progress || run.resumed) return show("moving", moving);
  if (run.role === "receive") return show("wait", wait);
  return run.inventory && (run.question || run.isMeasuring !== false) ? show("choose", choose) : show("busy", busy);
}
function go(place) { wanted = place; current = null; render(); main.querySelector("h1").focus(); }
const notes = () => run.notes.length ? el("div", { class: "box" }, ...run.notes.slice(-5).map((note) => el("p", {}, note()))) : "";
function live(build) {
  const place = el("div");
  const former = update;
  let last = "";
  update = () => {
    former();
    const node = build();
    const text = node.outerHTML ?? String(node);
    if (text !== last) { last = text; place.replaceChildren(node); }
  };
  return place;
}

// What may hinder, where nothing has happened for a while.
const advice = () => run.advice && Date.now() - run.since > 20000
  ? el("div", { class: "box" }, ...run.advice.split("\n").map((line) => (line.startsWith("  ") ? el("p", {}, el("code", {}, told(line.trim()))) : el("p", {}, told(line))))) : "";
function ticking(name) {
  const clock = setInterval(() => { if (current !== name) clearInterval(clock); else update(); }, 1000);
}

// The relay at which two computers in different networks meet.
function relayField() {
  const field = el("input", { type: "text", id: "relay", autocomplete: "off", spellcheck: false });
  return [field, [el("label", { class: "field", for: "relay" }, T.relay), field, el("p", { class: "quiet" }, T.relayHelp)]];
}

function start() {
  look();
  return [
    heading(T.start), el("p", {}, T.startHelp),
    el("div", { class: "choice" },
      el("button", { type: "button", id: "new", onclick: () => go("receive") }, T.newOne, el("span", {}, T.newOneHelp)),
      el("button", { type: "button", id: "old", onclick: () => go("send") }, T.oldOne, el("span", {}, T.oldOneHelp))),
  ];
}
function busy() {
  ticking("busy");
  return [heading(T.wait), live(advice), live(notes), el("div", { class: "row" }, button(T.stop, () => call("stop")))];
}

// The new computer

function prepare() {
  const replace = el("input", { type: "checkbox", id: "replace" });
  const [relay, relayRow] = relayField();
  const begin = () => call("receive", {
    ...(replace.checked ? { replace: "yes" } : {}), ...(relay.value.trim() ? { via: relay.value.trim() } : {}),
  });
  return [
    heading(T.receiveTitle),
    el("p", {}, T.existing),
    el("p", { class: "item" }, replace, el("label", { for: "replace" }, T.replace)),
    el("details", {}, el("summary", {}, T.elsewhere), ...relayRow),
    el("div", { class: "row" }, button(T.ready, begin, "main"), button(T.back, () => go(null))),
  ];
}
function wait() {
  let last = null;
  ticking("wait");
  return [
    heading(T.waiting),
    live(() => {
      if (!run.code) return el("p", {}, T.known);
      const left = (Date.parse(run.code.expires) - Date.now()) / 1000;
      if (run.code.code !== last) say(T.codeSpoken(last = run.code.code));
      return el("div", {}, el("p", { class: "code", id: "shown" }, run.code.code),
        el("p", { class: "quiet" }, left > 0 ? T.codeLeft(time(left)) : T.codeGone));
    }),
    el("p", {}, T.waitingNow),
    live(() => run.addresses.length ? el("div", {}, el("p", { class: "quiet" }, T.reach),
      el("ul", {}, ...run.addresses.slice(0, 4).map((address) => el("li", {}, el("code", {}, address))))) : ""),
    live(advice), live(notes),
    el("div", { class: "row" }, button(T.stop, () => call("stop"))),
  ];
}
// The other computer's name of a part is only a quotation beside this one's.
const calls = (part) => (part.part === part.name ? [] : [T.calls(said(part.part))]);
const places = (part, kind) => part.places.filter((place) => place.class === kind).flatMap((place) => place.paths.map((one) => one.path));
function listed(part, kind) {
  const all = part.kind === "folders" ? places(part, kind) : [];
  const here = all.slice(0, 20).join(", ") + (all.length > 20 ? ", …" : "");
  return here ? named(here) : told(part.name);
}
const semicolons = (words) => words.filter(Boolean).flatMap((word, index) => (index ? ["; ", word] : [word]).flat());
function reply(line) {
  const { number } = run.question ?? {};
  run.question = null;
  call("answer", { number, line });
  render();
}

function consent() {
  const question = run.question;
  const { parts } = question;
  const [files, apps] = [parts.filter(has("files")), parts.filter((part) => !has("files")(part) || has("apps")(part))];
  const box = el("input", { type: "checkbox", id: "apps", checked: apps.every((part) => !has("apps")(part) || ticks("apps")(part)) });
  box.addEventListener("change", () => update());
  const isTaken = (part) => run.chosen.has(part.number) && (has("files")(part) || box.checked);
  const accept = () => {
    const left = parts.filter((part) => !run.chosen.has(part.number)).map((part) => part.number);
    const isNothing = !parts.some(isTaken);
    reply(isNothing ? "n" : `${box.checked ? "all" : "files"}${left.length ? ` without ${left.join(",")}` : ""}`);
  };
  return [
    heading(T.consentTitle(said(question.label))),
    files.length ? el("h2", {}, T.ordinary) : null,
    files.length ? el("ul", { class: "list" }, ...files.map((part) => entry(part.number, told(part.name), part.bytes, calls(part)))) : null,
    apps.length ? el("h2", {}, T.appsTitle) : null,
    apps.length ? el("p", { class: "item" }, box, el("label", { for: "apps" }, T.apps)) : null,
    apps.length ? el("ul", { class: "list", id: "app-list" }, ...apps.map((part) => el("li", { class: "item" },
      el("div", { class: "grow" }, listed(part, "apps"), el("div", { class: "quiet" },
        ...semicolons([...calls(part), has("secrets")(part) && T.secretsFollow, has("apps")(part) && !ticks("apps")(part) && T.refusedBefore]))),
      el("span", { class: "size" }, has("files")(part) || part.bytes === null ? "" : size(part.bytes))))) : null,
    live(() => {
      const sum = parts.filter(isTaken).reduce((bytes, part) => bytes + (part.bytes || 0), 0);
      const free = question.availableBytes;
      return el("div", {}, el("p", {}, T.total(size(sum), free === null ? null : size(free))),
        free !== null && sum > free ? el("p", { class: "bad" }, T.tooLarge(size(free))) : null);
    }),
    question.mistake ? el("p", { class: "bad", role: "alert" }, question.mistake) : null,
    el("div", { class: "row" }, button(T.accept, accept, "main"), button(T.refuse, () => reply("n"))),
  ].filter(Boolean);
}
function secrets() {
  return [
    heading(T.secretsTitle), el("p", {}, T.secretsHelp),
    el("ul", { class: "list", id: "secret-list" }, ...run.question.parts.map((part) => el("li", {}, listed(part, "secrets")))),
    el("div", { class: "row" }, button(T.takeSecrets, () => reply("y")), button(T.leaveSecrets, () => reply("n"), "main")),
  ];
}
function removed() {
  const boxes = run.question.folders.map((folder) => [folder, el("input", { type: "checkbox", id: `removed-${folder.number}` })]);
  const again = () => {
    const left = boxes.filter(([, box]) => !box.checked).map(([folder]) => folder.number);
    reply(`again${left.length ? ` without ${left.join(",")}` : ""}`);
  };
  return [
    heading(T.removedTitle), el("p", {}, T.removedHelp),
    el("ul", { class: "list", id: "removed-list" }, ...boxes.map(([folder, box]) => el("li", { class: "item" }, box,
      el("div", { class: "grow" }, el("label", { for: box.id }, named(folder.path))), el("span", { class: "size" }, T.removedItems(folder.items))))),
    el("div", { class: "row" }, button(T.removedAnswer, again, "main"), button(T.removedLater, () => reply(""))),
  ];
}
function entry(number, name, bytes, words = [], most = 0) {
  const box = el("input", { type: "checkbox", id: `entry-${number}`, checked: run.chosen.has(number) });
  box.addEventListener("change", () => { if (box.checked) run.chosen.add(number); else run.chosen.delete(number); update(); });
  return el("li", { class: "item" }, box,
    el("div", { class: "grow" }, el("label", { for: box.id }, name),
      words.length ? el("div", { class: "quiet" }, semicolons(words)) : null, most ? el("span", { class: "bar", id: `bar-${number}`, hidden: true }) : null),
    el("span", { class: "size", id: `size-${number}` }, bytes === null || bytes === undefined ? "…" : size(bytes)));
}

// The old computer

function look() { if (!run.looking) { run.looking = true; call("look"); } }
function find() {
  look();
  const clock = setInterval(() => { if (current !== "find") clearInterval(clock); else if (run.state === "idle") look(); }, 1000);
  const field = el("input", { type: "text", id: "address", autocomplete: "off", spellcheck: false });
  const use = () => { if (field.value.trim()) call("send", { to: field.value.trim() }); };
  const [relay, relayRow] = relayField();
  const meet = () => { if (relay.value.trim()) call("send", { via: relay.value.trim() }); };
  return [
    heading(T.findTitle), el("p", {}, T.findHelp),
    live(() => run.unfinished
      ? el("p", {}, button(T.goOnWith(run.unfinished.label ? said(run.unfinished.label) : T.newComputer), () => call("send"), "main")) : ""),
    live(() => el("ul", { class: "list", id: "found" }, ...run.found.map((other) => el("li", {},
      button([said(other.label), " (", named(other.addresses[0]), ")"], () => call("send", { to: joined(other.addresses[0], other.port) })))))),
    live(() => el("p", { class: "quiet" }, !run.found.length && run.lookedOnce ? T.nobody : T.finding)),
    el("form", { onsubmit: (event) => { event.preventDefault(); use(); } },
      el("label", { class: "field", for: "address" }, T.address), field,
      el("div", { class: "row" }, el("button", { type: "submit" }, T.use), button(T.back, () => go(null)))),
    el("details", {}, el("summary", {}, T.elsewhere),
      el("form", { onsubmit: (event) => { event.preventDefault(); meet(); } }, ...relayRow,
        el("div", { class: "row" }, el("button", { type: "submit", id: "meet" }, T.useRelay)))),
  ];
}
function choose() {
  const entries = run.inventory.entries;
  const group = (entry) => entry.kind !== "item" && entry.kind !== "folder" ? "apps" : entry.mayRun ? "running" : "files";
  const words = (entry) => [
    entry.linkTarget && T.link(named(entry.linkTarget)), entry.identity && T.identity, entry.secret && T.secret,
    entry.inUse && T.inUse(named(entry.inUse)),
  ].filter(Boolean);
  const answer = () => {
    const changed = entries.filter((entry) => entry.chosen !== run.chosen.has(entry.number));
    const line = changed.map((entry) => (entry.chosen ? entry.number : `+${entry.number}`)).join(",");
    run.isMeasuring = false;
    reply(line);
  };
  const onward = button(T.next, answer, "main");
  onward.id = "onward";
  const build = [
    heading(T.chooseTitle),
    ...["files", "apps", "running"].flatMap((name) => {
      const list = entries.filter((entry) => group(entry) === name);
      return list.length ? [el("h2", {}, T.groups[name]),
        el("ul", { class: "list" }, ...list.map((one) => entry(one.number, named(one.name), one.bytes, words(one), 1)))] : [];
    }),
    run.inventory.leftOut.length ? el("details", {}, el("summary", {}, T.leftOut),
      el("ul", {}, ...run.inventory.leftOut.map((item) => el("li", {}, named(item.path), ": ", told(item.reason))))) : null,
    live(() => {
      const chosen = entries.filter((entry) => run.chosen.has(entry.number));
      const measured = entries.filter((entry) => entry.bytes !== null).length;
      return el("div", {}, el("p", {}, T.chosen(chosen.length, size(chosen.reduce((sum, entry) => sum + (entry.bytes || 0), 0)))),
        run.question ? null : el("p", { class: "quiet" }, T.measuring(measured, entries.length)),
        run.question?.mistake ? el("p", { class: "bad", role: "alert" }, told(run.question.mistake)) : null);
    }),
    live(notes),
    el("div", { class: "row" }, onward, button(T.stop, () => call("stop"))),
  ].filter(Boolean);
  const former = update;
  update = () => {
    former();
    const most = Math.max(1, ...entries.map((entry) => entry.bytes || 0));
    for (const entry of entries) {
      if (entry.bytes === null) continue;
      document.getElementById(`size-${entry.number}`).textContent = size(entry.bytes);
      const bar = document.getElementById(`bar-${entry.number}`);
      bar.hidden = false;
      bar.style.width = `${Math.max(0.5, (100 * entry.bytes) / most)}%`;
    }
    onward.disabled = !run.question || !run.chosen.size;
  };
  return build;
}

const damm = ["0317598642", "7092154863", "4206871359", "1750983426", "6123045978", "3674209581", "5869720134", "8945362017", "9438617205", "2581436790"];
const isValid = (digits) => [...digits].reduce((interim, digit) => damm[interim][digit], 0) === "0";
function code() {
  const wrong = el("p", { class: "bad", id: "wrong", role: "alert" });
  const field = el("input", {
    type: "text", id: "code", inputmode: "numeric", autocomplete: "off", maxlength: "30", "aria-describedby": "wrong",
  });
  // At a relay, a place stands in front of the code.
  const digits = () => field.value.replace(/\D/g, "");
  const isWrong = () => !isValid(digits().slice(-8));
  field.addEventListener("input", () => { wrong.textContent = digits().length === 8 && isWrong() ? T.codeWrong : ""; });
  const use = () => {
    if (digits().length < 8) { wrong.textContent = T.codeShort; return field.focus(); }
    if (isWrong()) { wrong.textContent = T.codeWrong; return field.focus(); }
    run.isMeasuring = false;
    reply(digits());
  };
  const question = run.question;
  setTimeout(() => field.focus());
  return [
    heading(T.codeTitle(question.label ? said(question.label) : named(question.address))),
    question.mistake ? el("p", { class: "bad", role: "alert" }, told(question.mistake)) : null,
    live(notes),
    el("form", { onsubmit: (event) => { event.preventDefault(); use(); } },
      el("label", { class: "field", for: "code" }, T.code), field, wrong,
      el("div", { class: "row" }, el("button", { type: "submit", class: "main" }, T.connect), button(T.stop, () => call("stop")))),
  ].filter(Boolean);
}

function token() {
  const question = run.question;
  const field = el("input", { type: "text", id: "token", autocomplete: "off", spellcheck: false });
  const use = () => reply(field.value.trim());
  setTimeout(() => field.focus());
  return [
    heading(T.tokenTitle(named(question.address))), el("p", {}, T.tokenHelp),
    question.mistake ? el("p", { class: "bad", role: "alert" }, told(question.mistake)) : null,
    el("form", { onsubmit: (event) => { event.preventDefault(); use(); } },
      el("label", { class: "field", for: "token" }, T.token), field,
      el("div", { class: "row" }, el("button", { type: "submit", class: "main" }, T.next), button(T.stop, () => call("stop")))),
  ].filter(Boolean);
}

// Both

function moving() {
  const whole = el("progress", { id: "whole", max: 1, value: 0, "aria-label": T.whole });
  const figures = { moved: el("dd"), items: el("dd"), speed: el("dd"), left: el("dd") };
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  const plot = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  plot.setAttribute("class", "plot");
  plot.setAttribute("viewBox", "0 0 240 60");
  plot.setAttribute("preserveAspectRatio", "none");
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", T.speedPlot);
  plot.append(line);
  const title = heading(T.moving[run.role]);
  const stop = button(T.stop, () => { stop.disabled = true; stop.textContent = T.stopping; call("stop"); });
  const list = el("ul", { class: "list", id: "parts" });
  let listed = null;
  const build = [
    title, el("p", { class: "quiet" }, T.mayClose),
    live(() => run.interrupted ? el("div", { class: "box bad", role: "alert" }, el("p", {}, T.interrupted(told(run.interrupted)))) : ""),
    whole, el("dl", {}, ...Object.entries(figures).flatMap(([name, node]) => [el("dt", {}, T[name]), node])), plot,
    el("h2", {}, T.parts), list, live(notes), el("div", { class: "row" }, stop),
  ];
  update = ((former) => () => {
    former();
    const now = run.progress;
    const parts = run.plan || [];
    if (listed !== parts) {
      listed = parts;
      list.replaceChildren(...parts.map((part, index) => el("li", {}, el("div", { class: "item" },
        el("span", { class: "grow" }, itsName(part.part)), el("span", { class: "quiet", id: `state-${index + 1}` })),
        el("progress", { id: `part-${index + 1}`, max: 1, value: 0, "aria-label": quotation(part.part) }))));
    }
    let before = 0;
    let isFound = false;
    parts.forEach((part, index) => {
      const end = run.ends.get(index + 1);
      const isRunning = !end && !isFound && now;
      const fraction = end ? (end.state === "failed" ? 0 : 1)
        : isRunning ? Math.min(1, Math.max(0, (now.bytes - before) / Math.max(1, part.bytes || 1))) : 0;
      if (isRunning) isFound = true;
      if (end && end.state !== "failed") before += end.bytes ?? part.bytes ?? 0;
      document.getElementById(`part-${index + 1}`).value = fraction;
      const state = T.states[end ? end.state : isRunning ? "running" : "waiting"];
      document.getElementById(`state-${index + 1}`).replaceChildren(state, ...(end?.message ? [": ", told(end.message)] : []));
    });
    if (!now) return;
    const words = T.phases[now.phase] ?? T.moving[run.role];
    if (title.textContent !== words) { title.textContent = words; say(words); }
    const fraction = now.phaseFraction ?? (now.totalBytes ? now.bytes / now.totalBytes : null);
    if (fraction === null) whole.removeAttribute("value"); else whole.value = fraction;
    figures.moved.textContent = T.amount(size(now.bytes), now.totalBytes === null ? null : size(now.totalBytes));
    figures.items.textContent = T.amount(count(now.items), now.totalItems === null ? null : count(now.totalItems));
    figures.speed.textContent = run.interrupted ? "…" : T.perSecond(size(now.bytesPerSecond));
    figures.left.textContent = run.interrupted || run.left === null ? "…" : time(run.left[1]);
    const most = Math.max(1, ...run.speeds.map(([, speed]) => speed));
    line.setAttribute("points", run.speeds.map(([, speed], index) => `${240 - run.speeds.length + index},${58 - (54 * speed) / most}`).join(" "));
  })(update);
  return build;
}

function report() {
  const { done, error, exit } = run;
  const isStopped = exit === 130 || exit === 143;
  const title = done ? (exit === 0 ? T.reportDone : T.reportSome) : isStopped ? T.reportStopped : T.reportFailed;
  const parts = [...run.ends.values()].sort((left, right) => left.number - right.number);
  const again = () => { const role = run.role; call("leave").then(() => go(role)); };
  const step = (sentence) => {
    const colon = sentence.lastIndexOf(": ");
    return el("li", {}, ...(colon < 0 ? [told(sentence)] : [told(sentence.slice(0, colon + 2)), el("code", {}, told(sentence.slice(colon + 2)))]));
  };
  const steps = [...(done?.nextSteps || []).map(step), ...(done && run.role === "send" ? [el("li", {}, T.lastPass)] : [])];
  say(title);
  return [
    heading(title),
    done ? el("p", {}, T.summary(count(done.items), size(done.bytes), time(done.seconds))) : null,
    error ? el("div", { class: "box bad", role: "alert" }, el("p", {}, told(error.message)), error.hint ? el("p", {}, `${T.hint}: `, told(error.hint)) : null) : null,
    isStopped ? el("p", {}, T.stoppedHelp) : null,
    !done && !error && !isStopped ? el("p", {}, T.unexpected(exit)) : null,
    parts.length ? el("h2", {}, T.parts) : null,
    parts.length ? el("ul", { class: "list", id: "ends" }, ...parts.map((end) => el("li", {},
      el("div", { class: "item" }, el("span", { class: "grow" }, itsName(end.part)),
        el("span", { class: end.state === "failed" ? "bad" : "good" }, T.states[end.state])),
      end.message ? el("div", {}, told(end.message)) : null, end.hint ? el("div", { class: "quiet" }, told(end.hint)) : null))) : null,
    run.problemCount ? el("h2", {}, T.problems) : null,
    run.problemCount ? el("ul", {}, ...run.problems.map(([name, why, form]) => el("li", {}, itsName(name), ": ", form(why))),
      run.problemCount > run.problems.length ? el("li", {}, T.more(count(run.problemCount - run.problems.length))) : null) : null,
    steps.length ? el("h2", {}, T.todo) : null, steps.length ? el("ul", {}, ...steps) : null,
    run.notes.length ? el("h2", {}, T.notes) : null, notes() || null,
    el("div", { class: "row" }, button(T.again, again, done && exit === 0 ? "" : "main"),
      button(T.print, () => print()), button(T.done, () => call("leave").then(() => go(null)))),
  ].filter((node) => node !== null);
}

begin();
