// What the sliders show. Forecasts are looked up in tables that Python made at all whole percents; the one computation here
// is the search for the structure behind two reports that costs the chosen aggregator most.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("calculator-data").textContent);
  const steps = data.steps, size = steps + 1;
  const by = (id) => document.getElementById(id);
  const create = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };

  // --- the tables ---

  function decode(entry) {
    const text = atob(entry.values), bytes = new DataView(new ArrayBuffer(text.length));
    for (let k = 0; k < text.length; k++) bytes.setUint8(k, text.charCodeAt(k));
    const table = new Float64Array(size * size); // table[first * size + second]
    let k = 0;
    for (let i = 0; i < size; i++) {
      for (let j = 0; j < (entry.symmetric ? i + 1 : size); j++, k += 4) {
        const value = bytes.getFloat32(k, true);
        table[i * size + j] = value;
        if (entry.symmetric) table[j * size + i] = value;
      }
    }
    return table;
  }
  const aggregators = data.aggregators.map((entry) => ({ ...entry, table: decode(entry) }));

  // --- words ---

  const SPACE = "\u00a0"; // so that no line ends between a number and its sign
  const whole = (value) => value + SPACE + "%";
  const percent = (value, digits = 2) => (100 * value).toFixed(digits) + SPACE + "%";
  const short = (value, digits = 2) => String(Number((100 * value).toFixed(digits))) + SPACE + "%";
  const often = (value) => (value > 0 && value < 5e-5 ? "<" + SPACE + "0.01" + SPACE + "%" : short(value));
  const found = (value) => (Math.floor(value * 1e6) / 1e6).toFixed(6); // found from below: rounded down

  // --- the worst structure behind two reports ---
  // c(a, b) = ab/mu + (1-a)(1-b)/(1-mu) and g(a, b) = (ab/mu)/c; agent i says x_i with chance q_i = (mu - y_i)/(x_i - y_i)
  // and else y_i; the regret is the sum over the four pairs of q q' c (f - g)^2. The first two reports must come: q_1 q_2 c > 0.

  const said = [0, 1].map(() => ({ count: 0, y: new Int32Array(size), q: new Float64Array(size) }));
  const beside = new Float64Array(size);

  // c (f - g)^2 = (c f - ab/mu)^2 / c
  function cost(f, yes, no) {
    const c = yes + no, miss = c * f - yes;
    return c > 0 ? (miss * miss) / c : 0;
  }

  // What she may say besides x, with the chance of x: whole percents on the other side of mu; nothing if x = mu.
  function others(list, x, mu) {
    const at = mu * steps;
    list.count = 0;
    if (Math.abs(x - at) < 1e-9) { list.y[0] = x; list.q[0] = 1; list.count = 1; return; }
    const from = x > at ? 0 : Math.floor(at + 1e-9) + 1, to = x > at ? Math.ceil(at - 1e-9) - 1 : steps;
    for (let y = from; y <= to; y++, list.count++) { list.y[list.count] = y; list.q[list.count] = (at - y) / (x - y); }
  }

  // The worst structure with the prior mu in which the two reports come with a chance of at least ``least``.
  function worstAt(table, i, j, mu, least) {
    const [first, second] = said, yes = 1 / (steps * steps * mu), no = 1 / (steps * steps * (1 - mu));
    const here = cost(table[i * size + j], yes * i * j, no * (steps - i) * (steps - j));
    const together = yes * i * j + no * (steps - i) * (steps - j);
    others(first, i, mu);
    others(second, j, mu);
    for (let k = 0; k < second.count; k++) {
      const z = second.y[k];
      beside[k] = cost(table[i * size + z], yes * i * z, no * (steps - i) * (steps - z));
    }
    let regret = -1, y = 0, z = 0, q = 0, r = 0;
    for (let l = 0; l < first.count; l++) {
      const b = first.y[l], p = first.q[l], row = b * size, yesB = yes * b, noB = no * (steps - b);
      const below = cost(table[row + j], yesB * j, noB * (steps - j));
      for (let k = 0; k < second.count; k++) {
        const c = second.y[k], s = second.q[k];
        if (p * s * together < least) continue;
        const value = p * (s * here + (1 - s) * beside[k]) + (1 - p) * (s * below + (1 - s) * cost(table[row + c], yesB * c, noB * (steps - c)));
        if (value > regret) { regret = value; y = b; z = c; q = p; r = s; }
      }
    }
    return { regret, mu, y, z, q, r };
  }

  // Priors in half percents, and in tenths around the best; a narrow range of priors in fortieths, too.
  function worstStructure(table, i, j, least) {
    const [low, high] = data.prior_range, priors = new Set();
    const within = (mu) => mu > 0 && mu < 1 && mu >= low && mu <= high;
    for (let k = 1; k < 2 * steps; k++) priors.add(k / (2 * steps));
    if (low > 0 || high < 1) for (let k = 0; k <= 40; k++) priors.add(low + ((high - low) * k) / 40);
    let best = { regret: -1 };
    const look = (mu) => {
      const one = worstAt(table, i, j, mu, least);
      if (one.regret > best.regret) best = one;
    };
    [...priors].filter(within).forEach(look);
    const middle = Math.round(10 * steps * best.mu);
    for (let k = middle - 9; k <= middle + 9; k++) if (within(k / (10 * steps))) look(k / (10 * steps));
    return best.regret < 0 ? null : best;
  }

  // What the omniscient says at the prior mu, and how often a pair comes, given that each is said on its own.
  function omniscient(mu, a, b) {
    const yes = (a * b) / (steps * steps * mu), no = ((steps - a) * (steps - b)) / (steps * steps * (1 - mu));
    return { says: yes / (yes + no), c: yes + no };
  }

  function pairs(one, i, j) {
    const all = [[i, j, one.q * one.r], [i, one.z, one.q * (1 - one.r)], [one.y, j, (1 - one.q) * one.r], [one.y, one.z, (1 - one.q) * (1 - one.r)]];
    return all.filter((pair) => pair[2] > 0)
      .map(([a, b, chance]) => ({ a, b, says: omniscient(one.mu, a, b).says, chance: chance * omniscient(one.mu, a, b).c }))
      .filter((pair) => pair.chance > 0);
  }

  // --- the colours of viridis ---

  const colours = "440154,48186a,472d7b,424086,3b528b,33638d,2c728e,26828e,21918c,1fa088,28ae80,3fbc73,5ec962,84d44b,addc30,d8e219,fde725"
    .split(",").map((hex) => [0, 2, 4].map((k) => parseInt(hex.slice(k, k + 2), 16)));
  function colour(value) {
    const at = Math.min(Math.max(value, 0), 1) * (colours.length - 1), k = Math.min(Math.floor(at), colours.length - 2);
    return colours[k].map((low, part) => low + (at - k) * (colours[k + 1][part] - low));
  }

  // --- the page ---

  const state = { reports: [70, 60], chosen: Math.max(0, aggregators.findIndex((one) => one.name === data.chosen)), structure: null };
  const map = by("map"), picture = document.createElement("canvas");
  picture.width = picture.height = size;

  function paintTable() {
    const table = aggregators[state.chosen].table, context = picture.getContext("2d"), image = context.createImageData(size, size);
    for (let i = 0; i < size; i++) {
      for (let j = 0; j < size; j++) {
        const at = 4 * ((steps - j) * size + i), [red, green, blue] = colour(table[i * size + j]);
        image.data[at] = red; image.data[at + 1] = green; image.data[at + 2] = blue; image.data[at + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
  }

  const place = (a, b) => [((a + 0.5) / size) * map.width, ((steps - b + 0.5) / size) * map.height];

  function paintMap() {
    const context = map.getContext("2d"), [i, j] = state.reports;
    context.drawImage(picture, 0, 0, map.width, map.height);
    const twice = (draw) => [["rgba(0,0,0,.75)", 6], ["#fff", 3]].forEach(([style, width]) => {
      context.strokeStyle = style; context.lineWidth = width; context.beginPath(); draw(); context.stroke();
    });
    for (const pair of state.structure ? pairs(state.structure, i, j) : []) {
      const half = 5 + 16 * Math.sqrt(pair.chance), edge = half + 3;
      const [x, y] = place(pair.a, pair.b).map((at) => Math.min(map.width - edge, Math.max(edge, at)));
      twice(() => context.rect(x - half, y - half, 2 * half, 2 * half));
    }
    const [x, y] = place(i, j);
    twice(() => context.arc(x, y, 11, 0, 2 * Math.PI));
  }

  function showForecasts() {
    const [i, j] = state.reports;
    aggregators.forEach((one, k) => {
      const value = one.table[i * size + j];
      by("forecast-" + k).textContent = percent(value);
      const [first, second, dot] = by("strip-" + k).children;
      first.style.left = (100 * i) / steps + "%";
      second.style.left = (100 * j) / steps + "%";
      dot.style.left = 100 * value + "%";
    });
    by("forecast").textContent = by("forecast-" + state.chosen).textContent;
  }

  function showBaseRates() {
    const [i, j] = state.reports, [low, high] = data.prior_range;
    const line = by("base-rates");
    line.textContent = "";
    if (impossible()) return;
    if ([i, j].some((report) => report === 0 || report === steps)) {
      line.append("One report is certain. If it is right, the answer is the same for every base rate.");
      return;
    }
    const rates = low > 0 || high < 1 ? [low, (low + high) / 2, high].filter((mu) => mu > 0 && mu < 1) : [0.1, 0.5, 0.9];
    line.append("The right answer depends on the base rate. For a base rate of ");
    rates.forEach((mu, k) => {
      line.append(k === 0 ? "" : "; for ", short(mu), k === 0 ? " it is " : ", ");
      const value = create("span", percent(omniscient(mu, i, j).says, 1));
      value.id = "base-" + k;
      line.append(value);
    });
    line.append(".");
  }

  const impossible = () => Math.min(...state.reports) === 0 && Math.max(...state.reports) === steps;

  const says = (who, x, y, q) => (q === 1 ? `${who} always says ${whole(x)}, which is uninformative`
    : `${who} says ${whole(x)} (${often(q)} of the time) or ${whole(y)}`);

  function showStructure() {
    const [i, j] = state.reports, chosen = aggregators[state.chosen];
    const least = Number(by("least").value);
    const one = impossible() ? null : worstStructure(chosen.table, i, j, least), rows = by("structure-table").tBodies[0];
    state.structure = one;
    by("structure-found").hidden = one === null;
    rows.textContent = "";
    if (one === null) {
      by("structure-sentence").textContent = impossible()
        ? "None: one report is certain of no and the other is certain of yes, so one of them is wrong. Calibrated agents never report this; the tables say 50 % here by convention."
        : "None: there is no structure in which the two reports occur together that often.";
    } else {
      const here = omniscient(one.mu, i, j).says;
      by("structure-sentence").textContent = `Suppose the base rate is ${short(one.mu, 3)}; ${says("the first forecaster", i, one.y, one.q)}; `
        + `${says("the second", j, one.z, one.r)}. Then ${whole(i)} and ${whole(j)} occur together in ${often(one.q * one.r * omniscient(one.mu, i, j).c)} of all `
        + `cases, and somebody who knew this would answer ${percent(here)}; ${chosen.name} says ${percent(chosen.table[i * size + j])}.`;
      by("structure-name").textContent = chosen.name;
      by("structure-column").textContent = chosen.name;
      by("structure-regret").textContent = found(one.regret);
      pairs(one, i, j).forEach((pair, k) => {
        const f = chosen.table[pair.a * size + pair.b], row = rows.insertRow(), head = create("th", `${whole(pair.a)} and ${whole(pair.b)}`);
        head.scope = "row";
        row.append(head);
        const share = one.regret > 0 ? (pair.chance * (f - pair.says) ** 2) / one.regret : 0;
        const cells = { chance: often(pair.chance), says: percent(f), omniscient: percent(pair.says), share: often(share) };
        for (const [name, text] of Object.entries(cells)) {
          const cell = create("td", text, "number");
          cell.id = `structure-${name}-${k}`;
          row.append(cell);
        }
        if (k === 0) row.className = "asked";
      });
    }
    const box = by("structure").dataset; // for those who want to read it with a program
    box.shown = `${i},${j},${chosen.name},${by("least").value}`;
    box.structure = one === null ? "" : JSON.stringify({ prior: one.mu, reports: [[i, one.y], [j, one.z]], regret: one.regret });
    paintMap();
  }

  let waiting = 0;
  function update() {
    state.structure = null;
    showForecasts();
    showBaseRates();
    paintMap();
    clearTimeout(waiting);
    waiting = setTimeout(showStructure, 40);
  }

  let typing = 0;
  function setReports(first, second) {
    state.reports = [first, second];
    by("number-note").textContent = "";
    state.reports.forEach((value, k) => {
      by(`report-${k + 1}`).value = value;
      by(`report-${k + 1}`).setAttribute("aria-valuetext", whole(value));
      if (typing !== k + 1) by(`number-${k + 1}`).value = value; // what is being typed is not corrected yet
    });
    update();
  }

  function choose(number) {
    state.chosen = number;
    aggregators.forEach((_, k) => by("row-" + k).classList.toggle("chosen", k === number));
    by("chosen-name").textContent = aggregators[number].name;
    paintTable();
    update();
  }

  function build() {
    const rows = by("forecasts").tBodies[0], formulas = by("formulas");
    aggregators.forEach((one, k) => {
      by("aggregator").append(new Option(one.name, k, k === state.chosen, k === state.chosen));
      const row = rows.insertRow(), head = create("th", one.name);
      row.id = "row-" + k;
      head.scope = "row";
      const forecast = create("td", "", "number forecast"), strip = create("td", undefined, "strip"), line = create("span");
      forecast.id = "forecast-" + k;
      line.id = "strip-" + k;
      strip.setAttribute("aria-hidden", "true");
      line.append(create("b"), create("b"), create("i"));
      strip.append(line);
      const regret = create("td", one.regret.text, "number"), kind = create("td", one.regret.kind);
      regret.id = "regret-" + k;
      kind.id = "kind-" + k;
      row.append(head, forecast, strip, regret, kind);
      formulas.append(create("dt", one.name), create("dd", one.formula));
    });
    const scale = by("scale").getContext("2d");
    for (let x = 0; x < 256; x++) {
      scale.fillStyle = `rgb(${colour(x / 255).map(Math.round)})`;
      scale.fillRect(x, 0, 1, 1);
    }
    if (data.note) by("regret-note").append(" " + data.note);
    [1, 2].forEach((k) => {
      const other = () => state.reports[2 - k], set = (value) => (k === 1 ? setReports(value, other()) : setReports(other(), value));
      by("report-" + k).addEventListener("input", (event) => set(event.target.valueAsNumber));
      by("number-" + k).addEventListener("input", (event) => {
        const value = event.target.valueAsNumber, fits = Number.isInteger(value) && value >= 0 && value <= steps;
        by("number-note").textContent = fits ? "" : "Enter whole percents from 0 to 100: for a probability of 0.7 write 70.";
        typing = k;
        if (fits) set(value);
        typing = 0;
      });
      by("number-" + k).addEventListener("change", (event) => {
        event.target.value = state.reports[k - 1];
        by("number-note").textContent = "";
      });
    });
    by("aggregator").addEventListener("change", (event) => choose(Number(event.target.value)));
    by("least").addEventListener("change", update);
    const drag = (event) => {
      if (event.type !== "pointerdown" && !event.buttons) return;
      const box = map.getBoundingClientRect(), inside = (share) => Math.min(steps, Math.max(0, Math.floor(share * size)));
      setReports(inside((event.clientX - box.left) / box.width), inside(1 - (event.clientY - box.top) / box.height));
    };
    map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); drag(event); });
    map.addEventListener("pointermove", drag);
    by("calculator-body").hidden = false;
    setReports(70, 60);
    choose(state.chosen);
  }
  build();
})();
