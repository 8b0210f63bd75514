// The page that designs rules: a form, a job whose bounds close in, and its proof. All numbers come from the server as texts; only their places in the picture are made here.
import { by, call, create } from "./common.js";
import { badge, doing, ended, follow, list } from "./jobs.js";

const streams = { job: null, proof: null };
let focus_next = null; // the heading of what was just started, once it is there

// --- the form ---

// A number, or the text that is none, which the server refuses in a sentence.
function numeric(id) {
  const text = by(id).value.trim();
  return text === "" ? undefined : Number.isNaN(Number(text)) ? text : Number(text);
}
const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;

async function options() {
  const rule = { loss: by("loss").value, paradigm: by("paradigm").value, method: by("method").value || undefined,
    lipschitz: numeric("lipschitz"), tolerance: numeric("tolerance"), rounds: numeric("rounds") };
  if (chosen("source") === "family") {
    const file = by("family").files[0];
    if (!file) throw new Error("Choose a family file.");
    try { return { ...rule, family: JSON.parse(await file.text()) }; } catch { throw new Error(`${file.name} is not JSON.`); }
  }
  const nature = chosen("nature");
  return { ...rule, nature, agents: numeric("agents"), reports: numeric("reports"),
    priors: nature === "grid" ? numeric("priors") : undefined,
    prior_range: by("ranged").checked ? [numeric("low"), numeric("high")] : undefined };
}

function show_choices() {
  const family = chosen("source") === "family";
  by("family-field").hidden = !family;
  for (const part of document.querySelectorAll(".world")) part.hidden = family;
  by("range").hidden = !by("ranged").checked;
  by("priors-field").hidden = chosen("nature") === "continuous";
}

async function start(event) {
  event.preventDefault();
  by("problem").textContent = "";
  by("start").disabled = true;
  try {
    const job = await call("POST", "designs", await options());
    focus_next = "title";
    location.hash = `job=${job.id}`;
  } catch (error) {
    by("problem").textContent = error.message;
  } finally {
    by("start").disabled = false;
  }
}

// --- one job ---

function watch(part, id, show) {
  streams[part]?.close();
  streams[part] = id ? follow(id, (job) => {
    if (ended(job)) list_jobs();
    show(job);
    if (focus_next && by(focus_next).checkVisibility()) { by(focus_next).focus(); focus_next = null; }
  }, (sentence, gone) => {
    by("lost").textContent = sentence;
    if (gone && part === "job") by("job").hidden = false;
  }) : null;
}

function facts(list, pairs) {
  list.replaceChildren(...Object.entries(pairs ?? {}).map(([name, text]) => {
    const row = create("div");
    row.append(create("dt", name), create("dd", text));
    return row;
  }));
}

function show_job(job) {
  const progress = job.progress, active = !ended(job);
  by("job").hidden = false;
  badge(by("state"), job.state);
  if (by("title").textContent !== job.title) by("title").textContent = job.title;
  by("error").textContent = job.error ?? "";
  by("bounds").hidden = !progress.lower;
  for (const name of ["lower", "upper", "gap"]) by(name).textContent = progress[name] ?? "";
  draw(progress);
  by("doing").textContent = doing(job, progress.doing ?? "setting up");
  by("pause").hidden = !(job.pausable && ["queued", "running"].includes(job.state));
  by("resume").hidden = job.state !== "paused";
  by("cancel").hidden = !active;
  by("result").hidden = job.state !== "done" || job.kind !== "design";
  if (job.state === "done" && job.kind === "design") {
    facts(by("facts"), job.result.facts);
    by("file").href = job.files["design.json"];
    by("report").href = job.files["report.html"];
    by("prove-form").hidden = !job.result.certifiable || Boolean(current().proof);
    by("no-proof").hidden = job.result.certifiable;
  }
}

// The places of the bounds: a bound holds from its round until the next.
function draw(progress) {
  const points = progress.points ?? [], [width, height] = [640, 240];
  by("closing").hidden = points.length === 0;
  if (points.length === 0) return;
  const { low, high } = progress.scale, first = points[0][0], last = points[points.length - 1][0] + 1;
  const margin = (high - low || 1e-9) * 0.1;
  const x = (round) => (((round - first) / (last - first)) * width).toFixed(1);
  const y = (value) => (height * (1 - (Math.min(Math.max(value, low - 2 * margin), high + 2 * margin) - low + margin) / (high - low + 2 * margin || 1))).toFixed(1);
  const steps = (column) => points.flatMap((point, k) => [[x(point[0]), y(point[column])], [x(points[k + 1]?.[0] ?? last), y(point[column])]]);
  const path = (places) => `M${places.map((place) => place.join(" ")).join("L")}`;
  const [lower, upper] = [steps(1), steps(2)];
  by("lower-line").setAttribute("d", path(lower));
  by("upper-line").setAttribute("d", path(upper));
  by("between").setAttribute("d", `${path([...upper, ...lower.reverse()])}Z`);
  by("high-text").textContent = progress.scale.high_text;
  by("low-text").textContent = progress.scale.low_text;
}

function show_proof(job) {
  by("proof").hidden = false;
  badge(by("proof-state"), job.state);
  by("proof-error").textContent = job.error ?? "";
  by("proof-doing").textContent = doing(job, job.progress.doing ?? "searching", job.progress.left);
  by("share").hidden = ended(job);
  if (job.progress.share === undefined) by("share").removeAttribute("value"); else by("share").value = job.progress.share;
  by("proof-cancel").hidden = ended(job);
  facts(by("proof-facts"), job.result?.facts);
  by("certificate").hidden = job.state !== "done";
  if (job.state === "done") by("certificate").href = job.files["certificate.json"];
  if (["failed", "cancelled"].includes(job.state)) by("prove-form").hidden = false;
}

const current = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

async function act(method, path, problem = "error") {
  try { return await call(method, path); } catch (error) { by(problem).textContent = error.message; return null; }
}

async function prove(event) {
  event.preventDefault();
  by("prove").disabled = true;
  try {
    const proof = await call("POST", "certificates", { design: current().job, tolerance: numeric("within") });
    focus_next = "proof-title";
    location.hash = `job=${current().job}&proof=${proof.id}`;
  } catch (error) {
    by("error").textContent = error.message;
  } finally {
    by("prove").disabled = false;
  }
}

// --- what there is ---

const list_jobs = () => list(["design", "certificate"], (job) => (job.kind === "design" ? [`Design: ${job.title}`, `#job=${job.id}`] : [`Proof: ${job.title}`, `#proof=${job.id}`]), remove);

async function remove(job) {
  if (!await act("DELETE", `jobs/${job.id}`)) return;
  if (Object.values(current()).includes(job.id)) location.hash = "";
  list_jobs();
  by("recent-title").focus();
}

function show_place() {
  const { job, proof } = current();
  by("job").hidden = by("proof").hidden = true;
  by("lost").textContent = "";
  watch("job", job, show_job);
  watch("proof", proof, show_proof);
  list_jobs();
}

by("form").addEventListener("submit", start);
by("form").addEventListener("change", show_choices);
by("pause").addEventListener("click", () => (by("doing").textContent = "stopping at the next checkpoint …", act("POST", `jobs/${current().job}/pause`).then(list_jobs));
by("resume").addEventListener("click", () => act("POST", `jobs/${current().job}/resume`).then(list_jobs));
by("cancel").addEventListener("click", () => act("DELETE", `jobs/${current().job}`).then(list_jobs));
by("prove-form").addEventListener("submit", prove);
by("proof-cancel").addEventListener("click", () => act("DELETE", `jobs/${current().proof}`, "proof-error").then(list_jobs));
addEventListener("hashchange", show_place);
show_choices();
show_place();
