// The look-up of a finite family: a list of reports for each agent, and the forecast of the profile that they make.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("lookup-data").textContent);
  const by = (id) => document.getElementById(id);
  const create = (tag, text) => {
    const element = document.createElement(tag);
    element.textContent = text;
    return element;
  };
  const SHOWN = 8; // reports that a sentence names
  const count = (number) => number.toLocaleString("en");

  const places = new Map(data.profiles.map((profile, place) => [profile.join(","), place]));
  const said = data.profiles[0].slice();

  // The reports of one agent that come together with what the others say.
  function possible(agent) {
    return data.profiles.filter((profile) => profile.every((report, k) => k === agent || report === said[k]))
      .map((profile) => data.agents[agent].reports[profile[agent]]);
  }

  function otherwise() {
    const ways = data.agents.map((agent, k) => ({ name: agent.name, reports: possible(k) })).filter((way) => way.reports.length > 0);
    const words = ways.map((way) => way.name + " could say " + way.reports.slice(0, SHOWN).join(" or ")
      + (way.reports.length > SHOWN ? " and " + count(way.reports.length - SHOWN) + " others" : ""));
    return words.length ? "Given the other reports, " + words.join("; ") + "." : "Changing one report does not help.";
  }

  function show() {
    const place = places.get(said.join(",")), line = by("lookup-answer");
    line.textContent = "";
    by("lookup").dataset.profile = place === undefined ? "" : place;
    if (place === undefined) {
      line.append("These reports never occur together in this family, so the design gives no forecast.");
      by("lookup-place").textContent = otherwise();
      return;
    }
    data.states.forEach((state, k) => {
      line.append(create("span", "The probability of " + state + " is"), create("strong", data.forecasts[place][k]));
    });
    by("lookup-place").textContent = "Profile " + count(place + 1) + " of " + count(data.profiles.length) + " in the design.";
  }

  data.agents.forEach((agent, k) => {
    const row = create("div", ""), label = create("label", agent.name + " says"), list = create("select", "");
    row.className = "report";
    list.id = "lookup-" + k;
    list.autocomplete = "off";
    label.htmlFor = list.id;
    agent.reports.forEach((report, place) => list.append(new Option(report, place, place === said[k], place === said[k])));
    list.addEventListener("change", () => {
      said[k] = Number(list.value);
      show();
    });
    row.append(label, list);
    by("lookup-agents").append(row);
  });
  by("lookup-body").hidden = false;
  show();
})();
