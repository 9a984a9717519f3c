// The screens of the new computer.

import { alarm, button, commas, count, el, field, group, heading, live, refresh, row, say, semicolons, size, ticking, time } from "/elements.js";
import { name as named, said, told } from "/foreign.js";
import { beginWith, call, go, look, reply, stopButton } from "/page.js";
import { S, has, notes, ticks, why } from "/state.js";
import { texts as T } from "/texts.js";

// The relay at which two computers in different networks meet.
export function relayForm(meet) {
  const { input, nodes } = field("relay", T.relay);
  const use = (event) => { event.preventDefault(); if (input.value.trim()) meet(input.value.trim()); };
  return el("details", {}, el("summary", {}, T.elsewhere),
    el("form", { onsubmit: use }, nodes, el("p", { class: "quiet" }, T.relayHelp), row(el("button", { type: "submit", id: "meet" }, T.useRelay))));
}

// Apps that have data here are the only question before the code.
export function prepare() {
  ticking("prepare");
  look();
  const box = (id, value, text) => el("p", { class: "item" },
    el("input", { type: "radio", name: "existing", id, value, checked: value === "no" }), el("label", { for: id }, text));
  const begin = () => call("receive", S.form = document.getElementById("replace").checked ? { replace: "yes" } : {});
  if (!S.apps) return [heading(T.wait), el("p", {}, T.listing), live(() => { if (S.apps) setTimeout(() => go("receive")); else look(); })];
  const names = S.apps.slice(0, 3);
  return [
    heading(T.existing), el("p", {}, T.existingApps(commas(names.map(named)), S.apps.length - names.length)),
    el("fieldset", {}, el("legend", {}, T.existingQuestion), box("keep", "no", T.keep), box("replace", "yes", T.replace)),
    row(button(T.ready, begin, "main"), button(T.back, () => go(null))),
  ];
}

export function wait() {
  const { run } = S;
  ticking("wait");
  let last = null;
  return [
    heading(T.newOne),
    live(() => {
      if (!run.code) return el("p", {}, T.waitingNow);
      const left = (Date.parse(run.code.expires) - Date.now()) / 1000;
      if (run.code.code !== last) say((last ? T.codeAnew : T.codeSpoken)(last = run.code.code));
      return el("div", {}, el("p", {}, T.waiting), el("p", { class: "code", id: "shown" }, run.code.code),
        el("p", { class: "quiet" }, left > 0 ? T.codeLeft(time(left)) : T.codeGone));
    }),
    live(() => (run.wrong ? el("p", { class: "box bad" }, T.wrongCode(named(run.wrong.from), run.wrong.left)) : "")),
    live(() => (run.addresses.length ? el("div", {}, el("p", { class: "quiet" }, T.reach),
      el("ul", { class: "quiet" }, ...run.addresses.slice(0, 4).map((address) => el("li", {}, el("code", {}, address))))) : "")),
    // What may hinder, where nothing has happened for a while.
    live(() => (run.since && !run.wrong && Date.now() - run.since > 20000 ? el("div", { class: "box", role: "status" }, el("p", {}, T.stillWaiting(run.port)),
      run.firewall ? [el("p", {}, T.firewall), el("p", {}, el("code", {}, told(run.firewall)))] : null, el("p", {}, T.guests)) : "")),
    live(notes), relayForm((via) => beginWith("receive", { ...S.form, via })), row(stopButton()),
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

// A box with a name, a size and words, which a screen reader hears with it.
export function entry(id, { checked = false, disabled = false, onchange = () => {} }, name, bytes, words = []) {
  const box = el("input", { type: "checkbox", id, checked, disabled, "aria-describedby": `${id}-size ${id}-words`, onchange });
  const node = el("li", { class: "item" }, box,
    el("div", { class: "grow" }, el("label", { for: id }, name), el("div", { class: "quiet", id: `${id}-words` }, semicolons(words)),
      el("span", { class: "bar", id: `${id}-bar`, hidden: true })),
    el("span", { class: "size", id: `${id}-size` }, bytes === null || bytes === undefined ? "…" : size(bytes)));
  return { box, node };
}
const choice = (number) => ({
  checked: S.run.chosen.has(number),
  onchange: (event) => { if (event.target.checked) S.run.chosen.add(number); else S.run.chosen.delete(number); refresh(); },
});

export function consent() {
  const { question } = S.run;
  const { parts } = question;
  const [files, apps] = [parts.filter(has("files")), parts.filter((part) => !has("files")(part) || has("apps")(part))];
  const box = el("input", { type: "checkbox", id: "apps", checked: apps.every((part) => !has("apps")(part) || ticks("apps")(part)), onchange: refresh });
  const isTaken = (part) => S.run.chosen.has(part.number) && (has("files")(part) || box.checked);
  const accept = () => {
    const left = parts.filter((part) => !S.run.chosen.has(part.number)).map((part) => part.number);
    reply(parts.some(isTaken) ? `${box.checked ? "all" : "files"}${left.length ? ` without ${left.join(",")}` : ""}` : "n");
  };
  const sum = (list) => list.reduce((bytes, part) => bytes + (part.bytes || 0), 0);
  const free = question.availableBytes;
  const words = (part) => [...calls(part), has("secrets")(part) && T.secretsFollow, has("apps")(part) && !ticks("apps")(part) && T.refusedBefore];
  const cannot = question.refused.filter((part) => part.cause !== "nothingNewer");
  const refused = (part, index) => entry(`refused-${index}`, { disabled: true }, said(part.part), part.bytes,
    [part.cause === "noSpace" ? T.noRoom(size(part.bytes ?? part.neededBytes), size(Math.max(0, (free ?? part.availableBytes) - (free === null ? 0 : sum(parts))))) : why(part)]).node;
  return [
    heading(T.consentTitle(said(question.label))),
    files.length ? group("files-title", T.ordinary,
      el("ul", { class: "list" }, ...files.map((part) => entry(`entry-${part.number}`, choice(part.number), told(part.name), part.bytes, calls(part)).node))) : null,
    apps.length ? group("apps-title", T.appsTitle, el("p", { class: "item" }, box, el("label", { for: "apps" }, T.apps)),
      el("ul", { class: "list", id: "app-list" }, ...apps.map((part) => el("li", { class: "item" },
        el("div", { class: "grow" }, listed(part, "apps"), el("div", { class: "quiet" }, semicolons(words(part)))),
        el("span", { class: "size" }, has("files")(part) || part.bytes === null ? "" : size(part.bytes)))))) : null,
    cannot.length ? group("refused-title", T.cannot, el("ul", { class: "list", id: "refused" }, ...cannot.map(refused))) : null,
    question.mistake ? alarm(T.again) : null,
    el("div", { class: "foot" }, live(() => {
      const taken = sum(parts.filter(isTaken));
      return el("div", { role: "status" }, el("p", {}, T.total(size(taken), free === null ? null : size(free))),
        free !== null && taken > free ? el("p", { class: "bad" }, T.tooLarge(size(free))) : null);
    }), row(button(T.accept, accept, "main"), button(T.refuse, () => reply("n")))),
  ];
}

export function secrets() {
  const { parts } = S.run.question;
  return [
    heading(T.secretsTitle), el("p", {}, T.secretsHelp),
    el("ul", { class: "list", id: "secret-list" }, ...parts.map((part) => el("li", {}, listed(part, "secrets")))),
    row(button(T.takeSecrets, () => reply("y")), button(T.leaveSecrets, () => reply("n"))),
  ];
}

export function removed() {
  const boxes = S.run.question.folders.map((folder) => {
    const id = `removed-${folder.number}`;
    const { box, node } = entry(id, {}, named(folder.path), 0);
    node.lastChild.textContent = T.removedItems(count(folder.items), folder.items);
    return { folder, box, node };
  });
  const again = () => {
    const left = boxes.filter(({ box }) => !box.checked).map(({ folder }) => folder.number);
    reply(`again${left.length ? ` without ${left.join(",")}` : ""}`);
  };
  return [
    heading(T.removedTitle), el("p", {}, T.removedHelp),
    el("ul", { class: "list", id: "removed-list" }, ...boxes.map(({ node }) => node)),
    row(button(T.removedAnswer, again, "main"), button(T.removedLater, () => reply(""))),
  ];
}
