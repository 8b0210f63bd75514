// Show some rows of the table only; what is chosen is in the address, so that a link shows the same.
(function () {
  "use strict";
  const form = document.getElementById("filters"), names = ["setting", "agents", "loss", "kind"];
  const field = (name) => document.getElementById(name);
  const rows = [...document.querySelectorAll("tr[data-setting]")];
  const outcome = (row) => (row.nextElementSibling?.classList.contains("outcome") ? row.nextElementSibling : null);

  function show() {
    let count = 0;
    for (const row of rows) {
      const fits = names.every((name) => !field(name).value || row.dataset[name] === field(name).value);
      row.hidden = !fits;
      if (outcome(row)) outcome(row).hidden = !fits;
      count += fits;
    }
    document.getElementById("count").textContent = `${count} of ${rows.length} rows`;
  }

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const name of names) {
      const known = [...field(name).options].some((option) => option.value === given.get(name));
      field(name).value = known ? given.get(name) : "";
    }
    show();
  }

  function write() {
    const given = new URLSearchParams(names.filter((name) => field(name).value).map((name) => [name, field(name).value]));
    history.replaceState(null, "", `${location.pathname}${location.search}${given.size ? `#${given}` : ""}`);
    show();
  }

  form.addEventListener("change", write);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();  // it would empty the fields only after this
    for (const name of names) field(name).value = "";
    write();
  });
  addEventListener("hashchange", read);
  form.hidden = false;
  read();
})();
