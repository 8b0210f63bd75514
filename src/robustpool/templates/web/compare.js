// The page that compares rules on a table: a form, a job, and its result. Numbers and sentences come from the server as they are shown.
"use strict";
import { by, call, create, Problem } from "./common.js";
import { badge, doing, ended, follow, list } from "./jobs.js";

const WORK = { compare: "compare", fit: "fit", "aggregate-table": "aggregate" }; // by the kind of job
const BUTTONS = { compare: "Compare", fit: "Fit a pool", aggregate: "Combine" };
const TITLES = { compare: "Rules compared on", fit: "A pool fitted to", "aggregate-table": "Combined forecasts from" };
const FILES = { report: "report.html", pooled: "pooled.csv", pool: "pool.json", rejects: "rejects.csv" }; // by the id of the link
const CHOOSE = by("chosen").textContent;

let stream = null, sending = null;
let sent = null; // the job of the table that is chosen
let shown = null; // the job whose result is shown

const current = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const work = () => document.querySelector("input[name=work]:checked").value;
const titled = (job) => `${TITLES[job.kind]} ${job.title}`;

// --- the form ---

function show_choices() {
  const combine = work() === "aggregate", table = by("table").files[0];
  by("with-rule").hidden = !combine;
  by("rule-field").hidden = by("rule").value !== "file";
  by("start").textContent = BUTTONS[work()];
  by("chosen").textContent = table ? table.name : CHOOSE;
  by("drop").classList.toggle("full", Boolean(table));
}

function choose(work) {
  by(`work-${work}`).checked = true;
  show_choices();
}

// What is wrong, beside the upload, and what may help.
function refuse(sentence, hint = "") {
  by("sentence").textContent = sentence;
  by("hint").textContent = hint;
  by("problem").hidden = !sentence;
  by("remedies").hidden = by("combine").hidden = by("refused-rows").hidden = true;
}

function say(sentence) { by("said").textContent = sentence; }

function options() {
  const query = new URLSearchParams({ files: "true" });
  if (work() !== "aggregate") query.set("report", "true");
  else if (by("rule").value !== "file") query.set("rule", by("rule").value);
  for (const field of by("reading").querySelectorAll("[data-option]")) {
    if (field.type === "checkbox" ? field.checked : field.value.trim()) query.set(field.dataset.option, field.value.trim());
  }
  for (const field of by("reading").querySelectorAll("[data-role]")) {
    if (field.value.trim()) query.append("column", `${field.dataset.role}=${field.value.trim()}`);
  }
  return query;
}

// The files as a form. They are read first: one that changed since it was chosen cannot be sent.
async function parts() {
  const files = { table: by("table").files[0], outcomes: by("outcomes").files[0] }, body = new FormData();
  if (work() === "aggregate" && by("rule").value === "file") {
    files.rule = by("rule-file").files[0];
    if (!files.rule) throw new Problem("Choose the file of a pool or a design.");
  }
  if (!files.table) throw new Problem("Choose a table first.");
  const given = Object.entries(files).filter(([, file]) => file);
  if (given.reduce((size, [, file]) => size + file.size, 0) > Number(by("form").dataset.most)) throw new Problem(by("too-large").textContent);
  for (const [name, file] of given) {
    try { body.append(name, new Blob([await file.arrayBuffer()]), file.name); } catch { throw new Problem(`${file.name} cannot be read; choose it again.`); }
  }
  return body;
}

async function start(event) {
  event?.preventDefault();
  if (sending) return;
  refuse("");
  say("");
  const before = current().job, path = `${work()}?${options()}`;
  sending = new AbortController();
  by("start").disabled = true;
  try {
    const body = await parts();
    say(`Sending ${by("table").files[0].name} …`);
    const job = await call("POST", path, body, { headers: { Prefer: "respond-async" }, signal: sending.signal });
    sent = job.id;
    if (before && !by("begin").hidden) { // what failed before is not kept
      location.replace(`#job=${job.id}`);
      call("DELETE", `jobs/${before}`).catch(() => {});
    } else location.hash = `job=${job.id}`;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    refuse(error.message);
    by("table").focus();
  } finally {
    say("");
    sending = null;
    by("start").disabled = false;
  }
}

function take(files) {
  if (files.length !== 1) return refuse("Drop one table at a time. A file with the outcomes has its place under How to read it.");
  by("table").files = files;
  refuse("");
  show_choices();
}

async function example() {
  const answer = await fetch("/static/forecasts.csv"), transfer = new DataTransfer();
  transfer.items.add(new File([await answer.blob()], "forecasts.csv"));
  by("form").reset();
  take(transfer.files);
  start();
}

// --- one job ---

function show(job) {
  if (!(job.kind in WORK)) { location.replace(`/design${location.hash}`); return; }
  if (job.state === "failed" || job.state === "cancelled") { show_refused(job); return; }
  const done = job.state === "done", began = by("job").hidden;
  by("begin").hidden = true;
  by("job").hidden = false;
  badge(by("state"), job.state);
  if (by("title").textContent !== titled(job)) by("title").textContent = titled(job);
  by("read").textContent = job.progress.read ?? "";
  by("left-out").textContent = job.progress.left_out ?? "";
  by("working").hidden = done;
  by("done").hidden = !done;
  by("doing").textContent = doing(job, job.progress.doing ?? "starting");
  if (job.progress.share === undefined) by("share").removeAttribute("value"); else by("share").value = job.progress.share;
  if (began) { by("title").focus(); scrollTo(0, 0); }
  if (done) show_done(job);
}

function show_done(job) {
  if (shown === job.id) return;
  shown = job.id;
  for (const [id, name] of Object.entries(FILES)) {
    by(id).hidden = !(name in job.files) || (id === "rejects" && !job.progress.left_out);
    if (name in job.files) by(id).href = job.files[name];
  }
  by("pooled").classList.toggle("first", job.kind === "aggregate-table");
  by("pooled-by").textContent = job.progress.pooled ?? "";
  by("use").parentElement.hidden = !("pool.json" in job.files);
  by("use").href = `#pool=${job.id}`;
  by("fit").parentElement.hidden = job.kind !== "compare";
  by("trouble").textContent = "";
  fill(job.id);
}

// A heading in the contents. It is reached without a new place in the address, which is the job's.
function entry(heading) {
  const item = create("li"), button = create("button", heading.textContent, { type: "button", class: "plain" });
  heading.tabIndex = -1;
  button.addEventListener("click", () => { heading.focus(); heading.scrollIntoView(); });
  item.append(button);
  return item;
}

// The result is HTML that the server made; whatever was in the table is only text in it.
async function fill(id) {
  const view = by("view");
  view.setAttribute("aria-busy", "true");
  view.replaceChildren();
  by("contents").replaceChildren();
  try {
    const text = await call("GET", `jobs/${id}/files/view.html`, undefined, { text: true });
    if (shown !== id) return;
    view.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
    by("contents").replaceChildren(...[...view.querySelectorAll("h2")].map(entry));
    view.dispatchEvent(new Event("filled", { bubbles: true }));
  } catch (error) {
    by("trouble").textContent = error.message;
  }
  view.setAttribute("aria-busy", "false");
}

// A job without a result: the reason stands beside the upload, and the form is as it was.
function show_refused(job) {
  show_form();
  choose(WORK[job.kind]);
  if (job.state === "cancelled") { say("Cancelled."); return; }
  refuse(job.error, job.progress.no_outcomes);
  if (!job.progress.read || job.progress.left_out) by("reading").open = true;
  by("combine").hidden = !job.progress.no_outcomes;
  by("refused-rows").hidden = !(job.progress.left_out && "rejects.csv" in job.files);
  if (!by("refused-rows").hidden) by("refused-rows").href = job.files["rejects.csv"];
  by("remedies").hidden = by("combine").hidden && by("refused-rows").hidden;
  if (sent === job.id) by("table").focus();
}

function repeat(kind) { // with the table that is still chosen, or after it is chosen again
  choose(kind);
  if (sent && sent === current().job) { start(); return; }
  history.pushState(null, "", location.pathname);
  show_place();
  say("Choose the table again: the server has deleted it.");
  by("table").focus();
}

async function remove(id, sentence, place = "begin-title") {
  try {
    await call("DELETE", `jobs/${id}`);
  } catch (error) {
    (by("begin").hidden ? by("trouble") : by("said")).textContent = error.message;
    return;
  }
  if (Object.values(current()).includes(id)) history.replaceState(null, "", location.pathname);
  if (!current().job) show_place();
  say(sentence);
  by(place).focus();
}

async function cancel() {
  const id = current().job;
  by("cancel").disabled = true;
  stream?.close();
  try {
    await call("DELETE", `jobs/${id}`);
    await remove(id, "Cancelled. Nothing of it is kept.");
  } catch (error) {
    by("doing").textContent = error.message;
  } finally {
    by("cancel").disabled = false;
  }
}

const list_jobs = () => list(Object.keys(WORK), (job) => [titled(job), `#job=${job.id}`], (job) => remove(job.id, `Removed: ${titled(job)}.`, "recent-title"));

// --- where we are ---

function show_form() {
  by("job").hidden = true;
  by("begin").hidden = false;
  shown = null;
  refuse("");
  say("");
  show_choices();
  list_jobs();
}

// The pool of a job is a rule for another table.
async function use_pool(id) {
  show_form();
  by("table").value = "";
  by("rule").querySelector("option[data-pool]")?.remove();
  try {
    const job = await call("GET", `jobs/${encodeURIComponent(id)}`);
    by("rule").prepend(create("option", `the pool fitted to ${job.title}`, { value: id, "data-pool": "" }));
    by("rule").value = id;
    choose("aggregate");
    say(`Choose a table of new forecasts. The pool fitted to ${job.title} combines it.`);
    by("table").focus();
  } catch (error) {
    refuse(error.message);
  }
}

function show_place() {
  const { job, pool } = current();
  stream?.close();
  stream = null;
  by("lost").textContent = "";
  if (pool) use_pool(pool);
  else if (!job) show_form();
  else stream = follow(job, show, (sentence, gone) => {
    by("lost").textContent = sentence;
    if (gone) { show_form(); refuse(sentence); }
  });
}

by("form").addEventListener("submit", start);
by("form").addEventListener("change", (event) => { if (event.target === by("table")) refuse(""); show_choices(); });
by("example").addEventListener("click", example);
by("combine").addEventListener("click", () => repeat("aggregate"));
by("fit").addEventListener("click", () => repeat("fit"));
by("cancel").addEventListener("click", cancel);
by("remove").addEventListener("click", () => remove(current().job, "Removed. Nothing of it is kept."));
for (const name of ["dragover", "dragleave", "drop"]) addEventListener(name, (event) => {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault(); // a file that misses the frame must not replace the page
  if (by("begin").hidden) return;
  by("drop").classList.toggle("over", name === "dragover");
  if (name === "drop") take(event.dataTransfer.files);
});
addEventListener("hashchange", show_place);
refuse("");
show_choices();
show_place();
