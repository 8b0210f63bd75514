// Jobs on a page: follow one while it works, say how it stands, and list those that the server keeps.
"use strict";
import { by, call, create } from "./common.js";

const STATES = { queued: "waiting", running: "running", paused: "paused", done: "done", failed: "failed", cancelled: "cancelled" };
const ENDED = ["done", "failed", "cancelled"];

export const ended = (job) => ENDED.includes(job.state);

// Follow a job: the browser reconnects by itself when the server comes back. `lost` gets a sentence, "" when all is well; then whether the job is gone.
export function follow(id, show, lost) {
  const stream = new EventSource(`/api/v1/jobs/${encodeURIComponent(id)}/events`);
  stream.onmessage = (event) => {
    const job = JSON.parse(event.data);
    if (ended(job)) stream.close();
    lost("", false);
    show(job);
  };
  stream.onerror = () => {
    if (stream.readyState === EventSource.CLOSED) lost("The server does not know this job.", true);
    else lost("The server does not answer. The page waits for it; the job is not lost.", false);
  };
  return stream;
}

export function badge(element, state) {
  if (element.textContent === STATES[state]) return;
  element.textContent = STATES[state];
  element.className = `badge${state === "done" ? " proved" : state === "failed" ? " wrong" : ""}`;
}

// What a job does now, in words.
export function doing(job, ...words) {
  if (job.state === "queued") return "Other jobs come first.";
  return job.state === "running" ? [...words, job.took].filter(Boolean).join(", ") : "";
}

// The latest jobs of some kinds, in the table of `recent.html`. `name` says what a job is and where it is shown; `remove` is for one that has ended.
export async function list(kinds, name, remove) {
  let jobs;
  try { ({ jobs } = await call("GET", `jobs?${new URLSearchParams(kinds.map((kind) => ["kind", kind]))}`)); } catch { return; }
  by("none").hidden = jobs.length > 0;
  by("recent-scroll").hidden = jobs.length === 0;
  by("recent").replaceChildren(...jobs.map((job) => {
    const row = create("tr"), what = create("td"), last = create("td"), began = new Date(job.created * 1000), [title, place] = name(job);
    what.append(create("a", title, { href: place }), create("span", began.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }), { class: "when" }));
    if (ended(job)) {
      const button = create("button", "Remove", { type: "button", class: "plain", "aria-label": `Remove: ${title}` });
      button.addEventListener("click", () => remove(job));
      last.append(button);
    }
    row.append(what, create("td", STATES[job.state]), last);
    return row;
  }));
}
