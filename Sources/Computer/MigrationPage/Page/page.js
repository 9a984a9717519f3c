// The connection to the assistant, and which screen is shown.

import { button, el, heading, isShown, rebuild, show } from "/elements.js";
import { quotation } from "/foreign.js";
import { moving, report } from "/moving.js";
import { consent, prepare, removed, secrets, wait } from "/new.js";
import { choose, code, find, token } from "/old.js";
import { S, take } from "/state.js";
import { texts as T } from "/texts.js";

// The address has a ticket for one use; the secret is this page's.
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
export async function call(name, form = {}) {
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
    for (const line of lines) take(JSON.parse(line), call);
    schedule();
  }
}
function lost() {
  S.run = null;
  show("lost", () => [heading(T.closed), el("p", {}, T.closedHelp)]);
}
addEventListener("hashchange", () => location.reload());

// Screens

let isScheduled = false;
function schedule() {
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(() => { isScheduled = false; render(); }, 50);
}
export function go(place) { S.wanted = place; rebuild(); render(); }
// Answers the question on the screen.
export function reply(line) {
  const { run } = S;
  const { number } = run.question ?? {};
  run.question = null;
  call("answer", { number, line });
  render();
}
// Begins in another way than the run that is there.
export function beginWith(role, form) {
  S.next = { role, form };
  call("stop");
}
export const stopButton = () => button(T.stop, (event) => { Object.assign(event.target, { disabled: true, textContent: T.stopping }); call("stop"); });
// Looks for other computers, and once for the apps that have data here.
export function look() {
  const { run } = S;
  if (run.looking || run.state !== "idle") return;
  run.looking = true;
  call("look", S.apps ? {} : { apps: "yes" });
}

const questions = { consent, secrets, removed, code, token };
export function render() {
  const { run } = S;
  if (!run) return;
  if (run.state === "ended") return S.wanted || S.next ? null : show("report", report);
  if (run.state === "idle") {
    if (S.wanted === "send") return show("find", find);
    if (S.wanted === "receive") {
      if (!S.apps || S.apps.length) return show("prepare", prepare);
      if (!run.isBeginning) { run.isBeginning = true; call("receive", S.form = {}); }
      return;
    }
    return show("start", start);
  }
  const { about } = run.question ?? {};
  if (questions[about]) return show(about, questions[about]);
  if (run.paired || run.plan || run.progress || run.resumed) return show("moving", moving);
  if (run.role === "receive") return show("wait", wait);
  return run.inventory && (run.question || run.isMeasuring !== false) ? show("choose", choose) : show("busy", busy);
}

function start() {
  look();
  const choice = (id, place, title, text) =>
    el("button", { type: "button", id, onclick: () => go(place) }, title, el("span", {}, text));
  return [
    heading(T.start), el("p", {}, T.startHelp),
    el("div", { class: "choice" }, choice("new", "receive", T.newOne, T.newOneHelp), choice("old", "send", T.oldOne, T.oldOneHelp)),
  ];
}
function busy() {
  const { run } = S;
  setTimeout(() => { if (isShown("busy") && S.run === run) document.getElementById("slow").hidden = false; }, 20000);
  return [
    heading(T.wait), el("p", {}, T.reaching(S.chosen && quotation(S.chosen.label))), el("p", { id: "slow", class: "box", role: "status", hidden: true }, T.stillReaching),
    el("div", { class: "row" }, stopButton()),
  ];
}

begin();
