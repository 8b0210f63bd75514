// The Combine page: what is typed, dragged or chosen goes to `ask`, and what comes back is shown as it is. Nothing is computed here.
"use strict";
import { by, create, download, Problem } from "./common.js";
import { ask, full, page } from "./source.js";

const LEAST = 2, MOST = 12, STEPS = 100;
const CHOICES = ["base_rate", "public", "knows_all", "slope", "outcomes"];
const first = () => ({ forecasts: ["70 %", "60 %"], names: ["", ""], rule: "robust", know: {} });
let state = first();
let answer = null; // the last one that is shown

// --- the state in the last part of the address, which is never sent ---

function toFragment() {
  const parts = new URLSearchParams();
  for (const each of state.forecasts) parts.append("f", Array.isArray(each) ? each.join(";") : each);
  if (state.names.some(Boolean)) for (const name of state.names) parts.append("n", name);
  if (state.rule !== "robust") parts.set("rule", state.rule);
  const { base_rate, public: shared, knows_all, slope, outcomes } = state.know;
  if (base_rate) { parts.set("low", base_rate[0]); parts.set("high", base_rate[1]); }
  if (shared) parts.set("public", "1");
  if (knows_all !== undefined) parts.set("all", knows_all);
  if (slope !== undefined) parts.set("slope", slope);
  if (outcomes !== undefined) parts.set("k", outcomes);
  return "#" + parts.toString();
}

function fromFragment(text) {
  const parts = new URLSearchParams(text.replace(/^#/, "")), read = first();
  const forecasts = parts.getAll("f").slice(0, MOST);
  if (!full || forecasts.length < LEAST) return forecasts.length === LEAST ? { ...read, forecasts } : read;
  if (parts.has("k")) read.know.outcomes = Number(parts.get("k"));
  read.forecasts = read.know.outcomes ? forecasts.map((each) => sized(each.split(";"), read.know.outcomes)) : forecasts;
  read.names = forecasts.map((_, place) => parts.getAll("n")[place] ?? "");
  read.rule = parts.get("rule") ?? "robust";
  if (parts.has("low")) read.know.base_rate = [parts.get("low"), parts.get("high") ?? ""];
  if (parts.has("public")) read.know.public = true;
  if (parts.has("all")) read.know.knows_all = parts.get("all") === "unknown" ? "unknown" : Number(parts.get("all"));
  if (parts.has("slope")) read.know.slope = parts.get("slope");
  return read;
}

const sized = (parts, size) => Array.from({ length: size }, (_, place) => parts[place] ?? "");

// --- asking: one question at a time, the newest next; one that takes long gives way to a newer one ---

const PATIENCE = 500;
let running = null, waiting = false, timer = 0;

function refresh(delay = 0) {
  clearTimeout(timer);
  timer = setTimeout(send, delay);
}

async function send() {
  if (running) {
    waiting = true;
    if (performance.now() - running.since > PATIENCE) running.stop.abort();
    return;
  }
  const mine = (running = { since: performance.now(), stop: new AbortController() });
  const fragment = toFragment();
  history.replaceState(null, "", fragment);
  const slow = setTimeout(() => say(state.know.base_rate ? "Looking for the rule for this range, and its proof …" : "One moment …"), PATIENCE);
  try {
    const reply = await ask(body(), mine.stop.signal);
    if (!waiting) show(reply, fragment);
  } catch (error) {
    if (error instanceof Problem) fail(error.message);
    else if (error.name !== "AbortError") throw error;
  } finally {
    clearTimeout(slow);
    running = null;
    if (waiting) { waiting = false; send(); }
  }
}

const body = () => ({ forecasts: state.forecasts, names: state.names, rule: state.rule, know: state.know });

// --- what comes back ---

function say(text) { by("message").textContent = text; by("message").classList.remove("wrong"); }

function fail(text) {
  answer = null;
  offer(false);
  document.body.dataset.shown = "";
  by("message").textContent = text;
  by("message").classList.add("wrong");
  by("forecast").textContent = "–";
  by("percent").textContent = "";
}

// What can be taken away, while there is an answer.
function offer(some) { for (const id of ["copy-reason", "save"]) if (by(id)) by(id).disabled = !some; }

// A text with `code` between backticks, as an element.
function prose(tag, text) {
  const element = create(tag);
  element.append(...text.split("`").map((part, place) => (place % 2 ? create("code", part) : part)));
  return element;
}

const paragraphs = (element, texts) => element.replaceChildren(...texts.map((text) => prose("p", text)));

function clearErrors() {
  for (const element of document.querySelectorAll("#form .wrong")) element.replaceChildren();
  for (const element of document.querySelectorAll("#form [aria-invalid]")) element.removeAttribute("aria-invalid");
}

function showProblem(problem) {
  fail("");
  if (problem.forecast !== undefined && by(`wrong-${problem.forecast}`)) {
    const place = by(`wrong-${problem.forecast}`);
    place.textContent = problem.detail + " ";
    by(`number-${problem.forecast}`)?.setAttribute("aria-invalid", "true");
    if (problem.suggestion && !Array.isArray(state.forecasts[problem.forecast])) {
      const button = create("button", `Use ${problem.suggestion}`, { type: "button" });
      button.addEventListener("click", () => { setForecast(problem.forecast, problem.suggestion); by(`number-${problem.forecast}`).focus(); });
      place.append(button);
    }
  } else if (problem.know !== undefined && by(`wrong-${problem.know}`)) by(`wrong-${problem.know}`).textContent = problem.detail;
  else fail(problem.detail);
}

function show(reply, fragment) {
  clearErrors();
  if (reply.problems.length) { showProblem(reply.problems[0]); document.body.dataset.refused = fragment; return; }
  answer = reply;
  offer(true);
  say("");
  const several = reply.outcomes !== null;
  by("forecast").textContent = several ? reply.outcomes.map((each) => each.text).join(" · ") : reply.text;
  by("forecast").classList.toggle("several", several);
  by("percent").textContent = several ? "" : reply.percent + (reply.changed ? ` · ${reply.plain.text} if you knew nothing` : "");
  showMap(reply);
  by("worlds").replaceChildren(...reply.worlds.map(worldList));
  by("reason").replaceChildren(...prose("p", reply.reason.join(" ")).childNodes);
  by("rules").tBodies[0].replaceChildren(...reply.rules.map(ruleRow));
  paragraphs(by("on-rules"), reply.on_rules);
  by("base").hidden = reply.base_rates.length === 0;
  const [rates, values] = by("base-rates").rows;
  rates.replaceChildren(rates.cells[0], ...reply.base_rates.map((each) => create("td", each.rate, { class: "number" })));
  values.replaceChildren(values.cells[0], ...reply.base_rates.map((each) => create("td", each.text, { class: "number" })));
  paragraphs(by("on-base-rate"), reply.on_base_rate);
  if (full) showChoices(reply);
  if (fragment === toFragment()) reply.sliders.forEach((at, place) => { if (by(`slider-${place}`)) by(`slider-${place}`).value = at; }); // else one has been moved on
  document.body.dataset.shown = fragment;
}

function worldList(sentences) {
  const list = create("ul", null, { class: "world" });
  list.append(...sentences.map((sentence) => create("li", sentence)));
  return list;
}

function ruleRow(rule) {
  const row = create("tr", null, rule.chosen ? { class: "chosen" } : {});
  const name = create("th", rule.name, { scope: "row" }), proved = create("td");
  if (rule.formula) name.title = rule.formula;
  proved.append(create("span", rule.bound));
  if (rule.how) proved.append(" ", create("span", rule.how, { class: rule.proved ? "badge proved" : "badge" }));
  row.append(name, create("td", rule.text, { class: "number" }), proved);
  return row;
}

function showChoices(reply) {
  for (const choice of CHOICES) by(`on-${choice}`).replaceChildren(...prose("p", (reply.knowledge[choice] ?? []).join(" ")).childNodes);
  const rule = by("rule"), names = reply.choices.includes(state.rule) ? reply.choices : [state.rule, ...reply.choices];
  if ([...rule.options].map((option) => option.value).join() !== names.join()) rule.replaceChildren(...names.map((name) => create("option", name)));
  rule.value = state.rule;
}

// --- the map of two forecasters ---

function showMap(reply) {
  by("heat").hidden = reply.map === null;
  if (reply.map === null) return;
  if (by("map").src !== reply.map) by("map").src = reply.map;
  const [x, y] = reply.sliders.map((at) => (at + 0.5) * (STEPS / (STEPS + 1))); // the middle of a cell
  for (const id of ["ring", "ring-edge"]) { by(id).setAttribute("cx", `${x}%`); by(id).setAttribute("cy", `${STEPS - y}%`); }
  [by("axis-first").textContent, by("axis-second").textContent] = [called(0), called(1)];
}

const within = (at) => Math.min(STEPS, Math.max(0, Math.round(at)));

function dragTo(event) {
  const box = by("plane").getBoundingClientRect();
  const x = ((event.clientX - box.left) / box.width) * STEPS, y = ((box.bottom - event.clientY) / box.height) * STEPS;
  setPercent(0, within(x));
  setPercent(1, within(y));
}

function listenToMap() {
  const plane = by("plane");
  plane.addEventListener("pointerdown", (event) => { plane.setPointerCapture(event.pointerId); plane.focus(); dragTo(event); event.preventDefault(); });
  plane.addEventListener("pointermove", (event) => { if (plane.hasPointerCapture(event.pointerId)) dragTo(event); });
  plane.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const [place, step] = move, at = Number(by(`slider-${place}`).value);
    setPercent(place, within(at + (event.shiftKey ? 10 * step : step)));
  });
}

// --- the form ---

const called = (place) => state.names[place] || `Forecaster ${place + 1}`;

function setForecast(place, text) {
  state.forecasts[place] = text;
  by(`number-${place}`).value = text;
  refresh();
}

function setPercent(place, at) {
  by(`slider-${place}`).value = at;
  setForecast(place, `${at} %`);
}

function forecasterRow(place) {
  const row = create("div", null, { class: "forecaster", role: "group", "aria-label": `Forecaster ${place + 1}` });
  const head = create("div", null, { class: "head" });
  if (full) {
    const name = create("input", null, { type: "text", id: `name-${place}`, placeholder: `Forecaster ${place + 1}`, "aria-label": `Name of forecaster ${place + 1}`, maxlength: 80 });
    name.value = state.names[place];
    name.addEventListener("input", () => { state.names[place] = name.value; fillWho(); refresh(150); });
    head.append(name);
  } else head.append(create("span", called(place), { class: "name" }));
  const outcomes = state.know.outcomes;
  if (outcomes) {
    for (let k = 0; k < outcomes; k++) head.append(numberField(`number-${place}${k ? `-${k}` : ""}`, `Outcome ${k + 1}, forecaster ${place + 1}`, state.forecasts[place][k], (text) => { state.forecasts[place][k] = text; }, place));
  } else head.append(numberField(`number-${place}`, `Forecast of forecaster ${place + 1}`, state.forecasts[place], (text) => { state.forecasts[place] = text; }, place));
  if (full) {
    const remove = create("button", "×", { type: "button", class: "plain", "aria-label": `Remove forecaster ${place + 1}` });
    remove.disabled = state.forecasts.length <= LEAST;
    remove.addEventListener("click", () => removeForecaster(place));
    head.append(remove);
  }
  row.append(head);
  if (!outcomes) {
    const slider = create("input", null, { type: "range", id: `slider-${place}`, min: 0, max: STEPS, step: 1, "aria-label": `Slider of forecaster ${place + 1}, in percent` });
    slider.addEventListener("input", () => setPercent(place, slider.value));
    row.append(slider);
  }
  row.append(create("p", "", { class: "wrong", id: `wrong-${place}`, role: "alert" }));
  return row;
}

function numberField(id, label, text, set, place) {
  const field = create("input", null, { type: "text", id, inputmode: "decimal", "aria-label": label, "aria-describedby": `wrong-${place}`, size: 6 });
  field.value = text;
  field.addEventListener("input", () => { set(field.value); refresh(200); });
  return field;
}

function removeForecaster(place) {
  for (const list of [state.forecasts, state.names]) list.splice(place, 1);
  const { knows_all } = state.know;
  if (typeof knows_all === "number" && knows_all >= place) state.know.knows_all = knows_all === place ? "unknown" : knows_all - 1;
  build();
  by(`number-${Math.min(place, state.forecasts.length - 1)}`).focus();
}

function addForecaster() {
  state.forecasts.push(state.know.outcomes ? sized([], state.know.outcomes).map((_, k) => state.forecasts.at(-1)[k]) : "50 %");
  state.names.push("");
  build();
  by(`number-${state.forecasts.length - 1}`).focus();
}

function fillWho() {
  const who = by("who"), people = state.forecasts.map((_, place) => create("option", called(place), { value: place }));
  who.replaceChildren(...people, create("option", "I do not know who", { value: "unknown" }));
  who.value = String(state.know.knows_all ?? 0);
}

const LISTED = { 3: ["50 %", "30 %", "20 %"], 4: ["40 %", "30 %", "20 %", "10 %"], 5: ["40 %", "20 %", "20 %", "10 %", "10 %"], 6: ["30 %", "20 %", "20 %", "10 %", "10 %", "10 %"] };

function setOutcomes(count) {
  if (count) { state.know.outcomes = count; state.forecasts = state.forecasts.map(() => [...LISTED[count]]); }
  else { delete state.know.outcomes; state.forecasts = state.forecasts.map((_, place) => first().forecasts[place] ?? "50 %"); }
  build();
}

function listenToChoices() {
  const values = {
    base_rate: () => [by("base-low").value, by("base-high").value],
    public: () => true,
    knows_all: () => (by("who").value === "unknown" ? "unknown" : Number(by("who").value)),
    slope: () => by("slope").value,
  };
  const set = (choice) => {
    if (by(`know-${choice}`).checked) state.know[choice] = values[choice](); else delete state.know[choice];
    if (by(`with-${choice}`)) by(`with-${choice}`).hidden = !by(`know-${choice}`).checked;
  };
  for (const choice of Object.keys(values)) by(`know-${choice}`).addEventListener("change", () => { set(choice); refresh(); });
  for (const [id, choice] of [["base-low", "base_rate"], ["base-high", "base_rate"], ["slope", "slope"]]) by(id).addEventListener("input", () => { set(choice); refresh(400); });
  by("who").addEventListener("change", () => { set("knows_all"); refresh(); });
  by("know-outcomes").addEventListener("change", () => setOutcomes(by("know-outcomes").checked ? Number(by("outcomes").value) : 0));
  by("outcomes").addEventListener("change", () => setOutcomes(Number(by("outcomes").value)));
  by("rule").addEventListener("change", () => { state.rule = by("rule").value; refresh(); });
  by("add").addEventListener("click", addForecaster);
}

// The form as the state has it.
function build() {
  by("forecasters").replaceChildren(...state.forecasts.map((_, place) => forecasterRow(place)));
  if (full) {
    by("add").disabled = state.forecasts.length >= MOST;
    fillWho();
    const { base_rate, public: shared, knows_all, slope, outcomes } = state.know;
    for (const [choice, value] of Object.entries({ base_rate, public: shared, knows_all, slope, outcomes })) {
      by(`know-${choice}`).checked = value !== undefined;
      if (by(`with-${choice}`)) by(`with-${choice}`).hidden = value === undefined;
    }
    if (base_rate) [by("base-low").value, by("base-high").value] = base_rate;
    if (slope !== undefined) by("slope").value = slope;
    if (outcomes !== undefined) by("outcomes").value = String(outcomes);
  }
  refresh();
}

// --- to take away ---

async function copy(text, done) {
  try { await navigator.clipboard.writeText(text); }
  catch { // no permission, or not over a safe connection
    const area = create("textarea", text, { "aria-label": "To copy" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  by("copied").textContent = done;
  setTimeout(() => { by("copied").textContent = ""; }, 4000);
}

function listenToButtons() {
  by("copy-reason").addEventListener("click", () => { if (answer) copy(by("reason").textContent, "The reason is copied."); });
  by("copy-link").addEventListener("click", () => copy(location.href, "The link is copied. It has the numbers in it."));
  if (full) by("save").addEventListener("click", async () => {
    try { download("forecast.html", await page(body())); } catch (error) { if (error instanceof Problem) fail(error.message); else throw error; }
  });
}

function start() {
  state = fromFragment(location.hash);
  listenToMap();
  listenToButtons();
  if (full) listenToChoices();
  by("form").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => { state = fromFragment(location.hash); build(); });
  build();
}

start();
