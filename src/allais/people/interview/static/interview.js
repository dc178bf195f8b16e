// Weighs the people of a table by the answers, and asks what tells most. No formula of a preference is in it: the page
// holds a table of chances, which the library has computed.
"use strict";
const plan = JSON.parse(document.getElementById("plan").textContent);
const bytes = Uint8Array.from(atob(plan.chances), (c) => c.charCodeAt(0));
const people = plan.people, kept = "allais interview " + plan.id;
const app = document.getElementById("app");
let person = "", answers = [], current = null, shownAt = 0;

const chance = (question, one) => (bytes[question * people + one] + 0.5) / 256;
const entropy = (p) => -(p * Math.log2(p) + (1 - p) * Math.log2(1 - p));

function weights() {
  const found = new Float64Array(people).fill(1 / people);
  for (const one of answers) {
    if (one.question >= plan.pairs.length) continue;  // a check: everybody passes it
    let total = 0;
    for (let i = 0; i < people; i++) {
      const p = chance(one.question, i);
      found[i] *= one.chosen === 0 ? p : 1 - p;
      total += found[i];
    }
    for (let i = 0; i < people; i++) found[i] /= total;
  }
  return found;
}

function information(question, weight) {
  let mean = 0, inside = 0;
  for (let i = 0; i < people; i++) {
    const p = chance(question, i);
    mean += weight[i] * p;
    inside += weight[i] * entropy(p);
  }
  return entropy(mean) - inside;
}

function next() {
  const check = plan.check_places.indexOf(answers.length);
  if (check >= 0) return plan.pairs.length + check;
  const weight = weights(), asked = new Set(answers.map((one) => one.question));
  let best = -1, most = -Infinity;
  for (let question = 0; question < plan.pairs.length; question++) {
    if (asked.has(question)) continue;
    const gain = information(question, weight);
    if (gain > most) { most = gain; best = question; }
  }
  return best;
}

const optionsOf = (question) =>
  question < plan.pairs.length ? plan.pairs[question] : plan.checks[question - plan.pairs.length];

function made(tag, name, text) {
  const one = document.createElement(tag);
  if (name) one.className = name;
  if (text !== undefined) one.textContent = text;
  return one;
}

const amount = (x) => (String(x).replace("-", "\u2212") + " " + plan.unit).trim();
const percent = (p) => Number((100 * p).toPrecision(3)) + " %";

function card(side, option) {
  const button = made("button", "card");
  button.type = "button";
  button.append(made("span", "side", side));
  const rows = Array.isArray(option) ? [...option].sort((a, b) => b[0] - a[0]) : [[option, 1]];
  for (const [outcome, p] of rows) {
    const row = made("span", "row");
    row.append(made("span", "outcome", amount(outcome)));
    row.append(made("span", "chance", p === 1 ? "for sure" : percent(p)));
    const bar = made("span", "bar"), fill = made("span", outcome < plan.reference === !plan.costs ? "loss" : "gain");
    if (outcome === plan.reference) fill.className = "nothing";
    fill.style.width = 100 * p + "%";
    bar.append(fill);
    row.append(bar);
    button.append(row);
  }
  return button;
}

function keep() {
  try { localStorage.setItem(kept, JSON.stringify({ person, answers })); } catch { /* a browser may forbid it */ }
}

function show(...parts) {
  app.replaceChildren(...parts);
}

function start() {
  const form = made("form", "start"), label = made("label", "", "Your name or number"), name = made("input");
  name.id = "name"; name.autocomplete = "off"; name.required = true; name.value = person;
  label.htmlFor = "name";
  const go = made("button", "main", "Begin");
  form.append(made("p", "", plan.intro), label, name, go);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    person = name.value.trim();
    if (person) ask();
  });
  show(form);
  name.focus();
}

function ask() {
  keep();
  if (answers.length >= plan.questions) { finish(); return; }
  current = next();
  const [a, b] = optionsOf(current).map((option, i) => card("AB"[i], option));
  a.addEventListener("click", () => take(0));
  b.addEventListener("click", () => take(1));
  const pair = made("div", "pair"), progress = made("progress"), foot = made("div", "foot");
  pair.append(a, b);
  progress.max = plan.questions; progress.value = answers.length;
  progress.setAttribute("aria-label", "How far you are");
  foot.append(made("span", "", `Question ${answers.length + 1} of ${plan.questions}`));
  const back = made("button", "quiet", "Back");
  back.type = "button"; back.disabled = answers.length === 0;
  back.addEventListener("click", undo);
  foot.append(back);
  show(progress, made("h2", "", plan.asking), pair, foot,
    made("p", "keys", "Keys: A or \u2190, B or \u2192, and Backspace to go back."));
  shownAt = performance.now();
}

function take(chosen) {
  const seconds = Math.round(performance.now() - shownAt) / 1000;
  answers.push({ question: current, chosen, seconds });
  current = null;
  ask();
}

function undo() {
  if (answers.length === 0) return;
  answers.pop();
  ask();
}

function results() {
  return {
    format: "allais answers", version: 1, page: plan.id, person,
    answers: answers.map((one, i) => ({
      person, trial: i + 1, options: optionsOf(one.question), chosen: one.chosen,
      check: one.question >= plan.pairs.length, seconds: one.seconds,
    })),
  };
}

function finish() {
  current = null;
  const link = made("a", "main", "Download your answers");
  link.id = "download";
  link.download = (person.replace(/[^\p{L}\p{N}_-]+/gu, "_") || "answers") + ".json";
  link.href = URL.createObjectURL(new Blob([JSON.stringify(results(), null, 1)], { type: "application/json" }));
  const back = made("button", "quiet", "Back"), anew = made("button", "quiet", "Another person");
  for (const one of [back, anew]) one.type = "button";
  back.addEventListener("click", undo);
  anew.addEventListener("click", () => { answers = []; person = ""; keep(); start(); });
  const foot = made("div", "foot");
  foot.append(back, anew);
  show(made("h2", "", "Thank you."), made("p", "", plan.outro), link, foot);
  link.focus();
}

document.addEventListener("keydown", (event) => {
  if (current === null || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const key = event.key.toLowerCase();
  if (key === "a" || key === "arrowleft") take(0);
  else if (key === "b" || key === "arrowright") take(1);
  else if (key === "backspace") undo();
  else return;
  event.preventDefault();
});

try {
  const before = JSON.parse(localStorage.getItem(kept) || "null");
  if (before && before.person && before.answers.length) { person = before.person; answers = before.answers; }
} catch { /* nothing was kept */ }
if (person) ask(); else start();
