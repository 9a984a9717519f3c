// The screens of the old computer.

import { alarm, button, commas, el, field, group, heading, isShown, keepingFocus, live, onUpdate, refresh, row, say, size } from "/elements.js";
import { name as named, said, told } from "/foreign.js";
import { entry, relayForm } from "/new.js";
import { call, go, look, reply, stopButton } from "/page.js";
import { S, addressOf, notes, programOf, remember, showsThisPage, why } from "/state.js";
import { texts as T } from "/texts.js";

export function find() {
  look();
  const clock = setInterval(() => { if (isShown("find")) look(); else clearInterval(clock); }, 1000);
  const { input, complain, nodes } = field("address", T.address, { value: S.typed });
  const send = (form, chosen = null) => { Object.assign(S, { mistake: null, chosen }); call("send", S.form = form); };
  // What the new computer shows is typed: its name, or an address.
  const use = (event) => {
    event.preventDefault();
    const typed = S.typed = input.value.trim();
    const other = S.run.found.find((one) => one.label.toLowerCase() === typed.toLowerCase());
    if (other) return send({ to: addressOf(other) }, other);
    const isAddress = typed && !/[\s/@]/.test(typed) && !/:\d{6,}$|:$/.test(typed.replace(/^\[.*\]/, ""));
    if (isAddress) return send({ to: typed });
    complain(T.noAddress);
    return input.focus();
  };
  // Now that the field is part of the page, so that it is said.
  setTimeout(() => { if (S.mistake) { complain(S.mistake === "usage" ? T.noAddress : T.noAnswer(named(S.typed || S.chosen?.label || T.newComputer))); input.focus(); } });
  return [
    heading(T.findTitle), el("p", {}, T.findHelp),
    live(() => { const goesOn = S.run.unfinished; return goesOn
      ? el("p", {}, button(T.goOnWith(goesOn.label ? said(goesOn.label) : T.newComputer), () => send({}, goesOn), "main", { id: "go-on" })) : ""; }),
    live(() => el("ul", { class: "list", id: "found" }, ...S.run.found.map((other) => el("li", {},
      button([said(other.label), el("span", { class: "quiet" }, named(other.addresses[0]))], () => send({ to: addressOf(other) }, other), "", { id: `found-${other.instance}` }))))),
    live(() => el("p", { class: "quiet" }, !S.run.found.length && S.run.lookedOnce ? T.nobody : T.finding)),
    el("form", { onsubmit: use }, nodes, row(el("button", { type: "submit" }, T.use), button(T.back, () => go(null)))),
    relayForm((via) => send({ via })),
  ];
}

const kindOf = (one) => (one.kind !== "item" && one.kind !== "folder" ? "apps" : one.mayRun ? "running" : "files");
const small = 1e6;
const isEmpty = (one) => one.bytes === 0 && !one.inUse;
const sum = (list) => list.reduce((bytes, one) => bytes + (one.bytes || 0), 0);
function words(one) {
  const last = S.last.get(one.name);
  return [
    one.linkTarget && T.link(named(one.linkTarget)), one.identity && T.identity, one.secret && T.secret,
    one.inUse && (showsThisPage(one.inUse) ? T.thisBrowser : T.inUse(programOf(one.inUse))), last && T.notLast(why(last)),
  ];
}

export function choose() {
  const { run } = S;
  const { entries } = run.inventory;
  let [isMeasured, warned] = [false, ""];
  const items = new Map(entries.map((one) => [one.number, entry(`entry-${one.number}`, {
    checked: run.chosen.has(one.number),
    onchange: (event) => { if (event.target.checked) run.chosen.add(one.number); else run.chosen.delete(one.number); refresh(); },
  }, named(one.name), one.bytes, words(one))]));
  const answer = () => {
    remember(entries, run.chosen);
    run.isMeasuring = false;
    reply(entries.filter((one) => one.chosen !== run.chosen.has(one.number)).map((one) => (one.chosen ? one.number : `+${one.number}`)).join(","));
  };
  const search = el("input", { type: "search", id: "search", autocomplete: "off", oninput: () => lay() });
  const onward = button(T.next, answer, "main", { id: "onward" });
  const groups = ["files", "apps", "running"].map((name) => {
    const list = entries.filter((one) => kindOf(one) === name);
    const [shown, folded] = [el("ul", { class: "list" }), el("ul", { class: "list" })];
    const more = el("details", { hidden: true }, el("summary"), folded);
    const set = (isChosen) => () => {
      for (const one of list.filter((one) => !items.get(one.number).node.hidden)) {
        items.get(one.number).box.checked = isChosen;
        if (isChosen) run.chosen.add(one.number); else run.chosen.delete(one.number);
      }
      refresh();
    };
    const node = group(`group-${name}`, T.groups[name], el("p", { class: "tools" },
      ...[[true, T.all], [false, T.none]].map(([isChosen, text]) => button(text, set(isChosen), "small", { "aria-label": T.ofGroup(text, T.groups[name]) }))), shown, more);
    return { list, shown, folded, more, node };
  }).filter(({ list }) => list.length);
  // The largest first; what is small is folded together, and what is empty is not shown.
  const lay = () => keepingFocus(document.getElementById("main"), () => {
    const wanted = search.value.trim().toLowerCase();
    for (const { list, shown, folded, more, node } of groups) {
      const fits = list.filter((one) => !isEmpty(one) && one.name.toLowerCase().includes(wanted)).sort((left, right) => (isMeasured ? (right.bytes || 0) - (left.bytes || 0) : 0));
      const little = isMeasured && !wanted ? fits.filter((one) => one.bytes !== null && one.bytes < small && !one.inUse && !S.last.has(one.name)) : [];
      const isFolded = little.length > 3;
      for (const one of list) items.get(one.number).node.hidden = !fits.includes(one);
      shown.replaceChildren(...fits.filter((one) => !isFolded || !little.includes(one)).map((one) => items.get(one.number).node));
      folded.replaceChildren(...(isFolded ? little : []).map((one) => items.get(one.number).node));
      more.hidden = !isFolded;
      more.firstChild.textContent = T.smallOnes(little.length, size(sum(little)));
      node.hidden = !fits.length;
    }
  });
  onUpdate(() => {
    if (run.question && !isMeasured) {
      isMeasured = true;
      // A move that goes on has its own choice.
      for (const one of entries) items.get(one.number).box.checked = run.chosen.has(one.number);
      lay();
    }
    const most = Math.max(1, ...entries.map((one) => one.bytes || 0));
    for (const one of entries) {
      if (one.bytes === null) continue;
      document.getElementById(`entry-${one.number}-size`)?.replaceChildren(size(one.bytes));
      const bar = document.getElementById(`entry-${one.number}-bar`);
      if (bar) { bar.hidden = false; bar.style.width = `${Math.max(0.5, (100 * one.bytes) / most)}%`; }
    }
    onward.disabled = !run.question || !run.chosen.size;
  });
  setTimeout(lay);
  const { leftOut } = run.inventory;
  const reason = (item) => told(item.command ? item.reason.replace(`: ${item.command}`, "") : item.reason);
  return [
    heading(T.chooseTitle),
    live(() => (run.question?.continues ? el("p", { class: "box" }, T.continues) : "")),
    entries.length > 12 ? el("p", {}, el("label", { class: "field", for: "search" }, T.search), search) : null,
    ...groups.map(({ node }) => node),
    leftOut.length ? el("details", {}, el("summary", {}, T.leftOut),
      el("ul", {}, ...leftOut.map((item) => el("li", {}, named(item.path), ": ", reason(item))))) : null,
    live(notes),
    el("div", { class: "foot" }, live(() => {
      const chosen = entries.filter((one) => run.chosen.has(one.number));
      const measured = entries.filter((one) => one.bytes !== null).length;
      const needing = (one) => chosen.filter((other) => one.identifier && other.needs?.includes(one.identifier)).map((other) => named(other.name));
      const lost = entries.filter((one) => !run.chosen.has(one.number) && needing(one).length)
        .map((one) => el("p", { class: "box" }, T.needed(named(one.name), commas(needing(one)))));
      const warning = lost.map((node) => node.textContent).join(" ");
      if (warning !== warned) say(warned = warning);
      return el("div", {}, ...lost, el("p", {}, T.chosen(chosen.filter((one) => !isEmpty(one)).length, size(sum(chosen))),
        run.question ? null : [" ", el("span", { class: "quiet" }, T.measuring(measured, entries.length))]), run.question?.mistake ? alarm(T.again) : null);
    }), row(onward, stopButton())),
  ];
}

const damm = ["0317598642", "7092154863", "4206871359", "1750983426", "6123045978", "3674209581", "5869720134", "8945362017", "9438617205", "2581436790"];
const isValid = (digits) => [...digits].reduce((interim, digit) => damm[interim][digit], 0) === "0";

// A question with one field; `check` returns what is wrong with its text.
function asking(title, address, id, label, more, check, wrong) {
  const { input, complain, nodes } = field(id, label, more);
  const use = (event) => {
    event.preventDefault();
    const mistake = check(input.value, true);
    if (mistake) { complain(mistake); return input.focus(); }
    return reply(id === "code" ? input.value.replace(/\D/g, "") : input.value.trim());
  };
  input.addEventListener("input", () => complain(...[check(input.value, false)].filter(Boolean)));
  // Now that the field is part of the page, so that it is said.
  setTimeout(() => { if (wrong) complain(wrong); input.focus(); });
  return [
    heading(title), address ? el("p", { class: "quiet" }, named(address)) : null, live(notes),
    el("form", { onsubmit: use }, nodes, row(el("button", { type: "submit", class: "main" }, id === "code" ? T.connect : T.next), stopButton())),
  ];
}

export function code() {
  const { question } = S.run;
  S.run.isMeasuring = false;
  const label = question.label || S.chosen?.label;
  // At a relay, a place stands in front of the code.
  const check = (text, isWhole) => {
    const digits = text.replace(/\D/g, "");
    if (digits.length < 8) return isWhole && T.codeShort;
    return (isWhole || digits.length === 8) && !isValid(digits.slice(-8)) && T.codeWrong;
  };
  const wrong = question.triesLeft ? T.wrongHere(question.triesLeft) : question.mistake ? T.codeWrong : null;
  return asking(T.codeTitle(label ? said(label) : T.newComputer), S.form.via ? null : question.address, "code", T.code,
    { inputmode: "numeric", maxlength: "30" }, check, wrong);
}
export function token() {
  const { question } = S.run;
  const [title, ...rest] = asking(T.tokenTitle(named(question.address)), null, "token", T.token, {}, (text, isWhole) => isWhole && !text.trim() && T.tokenHelp, question.mistake ? T.again : null);
  return [title, el("p", {}, T.tokenHelp), ...rest];
}
