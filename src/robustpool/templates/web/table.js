// Verify a certificate of a row, or one's own: the server checks it, and what it says is shown.
"use strict";
import { by, call, create } from "./common.js";

function shown(verdict) {
  const part = create("div", null, { class: verdict.verified ? "message" : "message wrong" });
  const head = create("p");
  head.append(create("span", verdict.verified ? "verified" : "not verified", { class: verdict.verified ? "badge proved" : "badge wrong" }), ` ${verdict.summary}`);
  part.append(head);
  for (const claim of verdict.claims) part.append(create("p", claim));
  if (verdict.label) part.append(create("p", `Label, not checked: ${verdict.label}`));
  const second = verdict.referee, details = create("details");
  part.append(create("p", second.summary));
  details.append(create("summary", "What the referee’s checker says"), ...second.sentences.map((sentence) => create("p", sentence)));
  part.append(details);
  return part;
}

async function verify(target, content) {
  target.replaceChildren(create("p", "Checking …"));
  try {
    target.replaceChildren(shown(await call("POST", "verify?referee=true", await content())));
  } catch (problem) {
    target.replaceChildren(create("p", problem.message, { class: "message wrong" }));
  }
}

// The outcome stands in a row of its own, below the row of the certificate.
function place(row) {
  const below = row.nextElementSibling;
  if (below?.classList.contains("outcome")) return below.firstElementChild.firstElementChild;
  const outcome = create("tr", null, { class: "outcome", role: "row" });
  const cell = create("td", null, { colspan: String(row.children.length), role: "cell" }), target = create("div", null, { "aria-live": "polite" });
  cell.append(target);
  outcome.append(cell);
  row.after(outcome);
  return target;
}

document.querySelector("table.certified").addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-certificate]");
  if (!button || button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  await verify(place(button.closest("tr")), () => call("GET", button.dataset.certificate, undefined, { blob: true }));
  button.removeAttribute("aria-disabled");
});

const drop = by("drop"), own = (file) => file && verify(by("own"), async () => file);
by("file").addEventListener("change", (event) => { own(event.target.files[0]); event.target.value = ""; });
for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
for (const name of ["dragleave", "drop"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.remove("over"); });
drop.addEventListener("drop", (event) => own(event.dataTransfer.files[0]));
