// The screens of both computers: the move, and its report.

import { button, commas, count, el, heading, live, onUpdate, row, say, size, ticking, time, titled } from "/elements.js";
import { escaped, name as named, quotation } from "/foreign.js";
import { call, go, stopButton } from "/page.js";
import { S, fraction, help, itsName, notes, programOf, showsThisPage, stateOf, why } from "/state.js";
import { texts as T } from "/texts.js";

// What is going on, as a heading, and what to do.
function now(run) {
  const { inUse } = run;
  if (inUse) {
    return [T.closeApp(escaped(inUse.app)), showsThisPage(inUse.user) ? [T.closeThisPage] : T.closeHelp(programOf(inUse.user), named(inUse.app))];
  }
  if (run.role === "send" && run.plan && !run.progress && !run.ends.size && !run.resumed) {
    return [T.acceptThere(quotation(run.paired?.label || S.chosen?.label || "")), [T.acceptHelp]];
  }
  // The new computer says nothing while it asks its user to close an app.
  if (run.role === "send" && ["verifying", "importing"].includes(run.progress?.phase) && Date.now() - run.movedAt > 15000) {
    return [T.lookThere, [T.lookThereHelp]];
  }
  return [T.phases[run.progress?.phase] ?? T.moving[run.role], [T.mayClose]];
}

export function moving() {
  const { run } = S;
  ticking("moving");
  const whole = el("progress", { id: "whole", max: 1, value: 0, "aria-label": T.whole });
  const figures = { moved: el("dd"), items: el("dd"), speed: el("dd"), left: el("dd") };
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  const plot = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({ class: "plot", viewBox: "0 0 240 60", preserveAspectRatio: "none", role: "img", "aria-label": T.speedPlot })) plot.setAttribute(key, value);
  plot.append(line);
  const title = heading("");
  const list = el("ul", { class: "list", id: "parts" });
  const table = el("div", { id: "figures" }, whole, el("dl", {}, ...Object.entries(figures).flatMap(([name, node]) => [el("dt", {}, T[name]), node])), plot);
  let listed = null;
  onUpdate(() => {
    const [words] = now(run);
    if (title.textContent !== words) { title.textContent = words; say(words); }
    const done = fraction(run);
    titled(done === null || run.inUse ? words : `${T.percent(Math.floor(100 * done))} – ${words}`);
    lay();
    table.hidden = !run.progress;
    if (!run.progress) return;
    if (done === null) whole.removeAttribute("value"); else whole.value = done;
    const { bytes, totalBytes, items, totalItems, bytesPerSecond } = run.progress;
    const waits = run.interrupted || run.inUse;
    figures.moved.textContent = T.amount(size(bytes), totalBytes === null ? null : size(totalBytes));
    figures.items.textContent = T.amount(count(items), totalItems === null ? null : count(totalItems));
    figures.speed.textContent = waits ? "…" : T.perSecond(size(bytesPerSecond));
    figures.left.textContent = waits || run.left === null ? "…" : time(run.left[1]);
    const most = Math.max(1, ...run.speeds.map(([, speed]) => speed));
    line.setAttribute("points", run.speeds.map(([, speed], index) => `${240 - run.speeds.length + index},${58 - (54 * speed) / most}`).join(" "));
  });
  // Each part: its name and its state in a line, and what is to be said of it in a line of its own.
  function lay() {
    const parts = run.plan || [];
    if (listed !== parts) {
      listed = parts;
      list.replaceChildren(...parts.map((part, index) => el("li", {}, el("div", { class: "item" },
        el("span", { class: "grow" }, itsName(part.part)), el("span", { class: "quiet", id: `state-${index + 1}` })),
        el("progress", { id: `part-${index + 1}`, max: 1, value: 0, "aria-label": quotation(part.part) }), el("div", { class: "quiet", id: `why-${index + 1}` }))));
    }
    let [before, isFound] = [0, false];
    parts.forEach((part, index) => {
      const end = run.ends.get(index + 1);
      const isRunning = !end && !isFound && run.progress;
      isFound ||= isRunning;
      document.getElementById(`part-${index + 1}`).value = end ? (end.state === "failed" ? 0 : 1)
        : isRunning ? Math.min(1, Math.max(0, (run.progress.bytes - before) / Math.max(1, part.bytes || 1))) : 0;
      if (end && end.state !== "failed") before += end.bytes ?? part.bytes ?? 0;
      const state = end ? stateOf(end) : isRunning && run.inUse ? T.states.inUse : isRunning ? T.states.running : T.states.waiting;
      const place = document.getElementById(`state-${index + 1}`);
      if (place.textContent !== state) {
        place.textContent = state;
        document.getElementById(`why-${index + 1}`).replaceChildren(...(end?.state === "failed" && !end.declined ? why(end) : []));
      }
    });
  }
  return [
    title, live(() => el("p", { class: run.inUse ? "box" : "quiet" }, now(run)[1])),
    live(() => (run.interrupted ? el("div", { class: "box bad", role: "alert" }, el("p", {}, T.interrupted)) : "")),
    table, el("h2", {}, T.parts), list, live(notes), row(stopButton()),
  ];
}

// Failures first, then what lacks something, then what was not taken.
const isFailed = (end) => end.state === "failed" && !end.declined;
const lacks = (end) => (end.notStored || 0) + (end.unsent || 0) > 0;
const rank = (end) => (isFailed(end) ? 0 : lacks(end) ? 1 : end.declined ? 2 : 3);

export function report() {
  const { run } = S;
  const { done, error, exit } = run;
  const isSender = run.role === "send";
  const isStopped = exit === 130 || exit === 143;
  const isDeclined = error?.cause === "declined" || error?.cause === "notAllowed";
  const ends = [...run.ends.values()].sort((left, right) => rank(left) - rank(right) || left.number - right.number);
  const isAllTaken = exit === 0 || ends.length > 0 && !run.problemCount && !done?.newer && !done?.removedUnsettled && ends.every((end) => !isFailed(end) && !lacks(end));
  const title = done ? (exit === 0 ? T.reportDone : isAllTaken ? T.reportTaken : T.reportSome) : isStopped ? T.reportStopped : isDeclined ? T.reportNothing : T.reportFailed;
  const again = () => call("leave").then(() => (isSender || ends.some((end) => end.cause === "appHasData") ? go(run.role) : call("receive", S.form)));
  const steps = (done?.steps || []).filter((step) => T.steps[step.step]).map((step) =>
    T.steps[step.step](commas(step.names.slice(0, 20).map((one) => named(one))), Math.max(0, step.names.length - 20)));
  if (done && isSender) steps.push(done.newer ? [T.newer, commas(done.newer.map((one) => named(one.path))), "."] : T.lastPass);
  const ending = (end) => el("li", {},
    el("div", { class: "item" }, el("span", { class: "grow" }, itsName(end.part)), el("span", { class: isFailed(end) ? "bad" : end.declined ? "quiet" : "good" }, lacks(end) ? T.states.inPart : stateOf(end))),
    isFailed(end) ? [el("div", {}, why(end)), help(end) ? el("div", { class: "quiet" }, help(end)) : null] : null,
    end.declined ? el("div", { class: "quiet" }, isSender ? T.declinedThere : T.declinedHere) : null);
  say(title);
  return [
    heading(title),
    done ? el("p", {}, T.summary(count(done.items), size(done.bytes), time(done.seconds), done.items)) : null,
    error && !isStopped ? el("div", { class: isDeclined ? "box" : "box bad", role: "alert" }, el("p", {}, why(error)), help(error) ? el("p", {}, help(error)) : null) : null,
    isStopped ? el("p", {}, T.stoppedHelp) : null,
    !done && !error && !isStopped ? el("p", {}, T.unexpected(exit)) : null,
    ends.length ? el("h2", {}, T.parts) : null,
    ends.length ? el("ul", { class: "list", id: "ends" }, ...ends.map(ending)) : null,
    run.problemCount ? el("h2", {}, T.problems) : null,
    run.problemCount ? el("ul", {}, ...run.problems.map(([name, form]) => el("li", {}, itsName(name), ": ", form())),
      run.problemCount > run.problems.length ? el("li", {}, T.more(count(run.problemCount - run.problems.length))) : null) : null,
    steps.length ? el("h2", {}, T.todo) : null, steps.length ? el("ul", {}, ...steps.map((step) => el("li", {}, step))) : null,
    run.notes.length ? el("h2", {}, T.notes) : null, notes() || null,
    row(button(T.again, again, exit === 0 ? "" : "main"), button(T.print, () => print()), button(T.done, () => call("leave").then(() => go(null)))),
  ];
}
