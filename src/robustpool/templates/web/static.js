// Where the Combine page gets its answers without a server: from files, one for each whole percent of the first forecaster.
"use strict";
import { create } from "./common.js";

const loaded = new Map();
window.robustpool = { common: null, answers: {} };

function load(name) {
  if (!loaded.has(name)) loaded.set(name, new Promise((done, failed) => {
    const script = create("script", null, { src: `answers/${name}.js` });
    script.addEventListener("load", done);
    script.addEventListener("error", () => failed(new Error(`answers/${name}.js is missing`)));
    document.head.append(script);
  }));
  return loaded.get(name);
}

const refusal = (place, text) => ({ problems: [{ forecast: place, suggestion: /^\s*\d{1,3}\s*$/.test(text) && Number(text) <= 100 ? `${Number(text)} %` : null,
  detail: `Without the server only whole percents such as 70 % have an answer; report ${place + 1} is '${text}'.` }] });

// A list with null where it is as in the common answer.
const filled = (list, common) => list.map((item, place) => (item === null ? common[place] : Array.isArray(item) ? filled(item, common[place] ?? []) : item));

export async function ask(body) {
  const percents = [];
  for (const [place, text] of body.forecasts.entries()) {
    const found = /^\s*(\d{1,3})\s*%\s*$/.exec(text);
    if (!found || Number(found[1]) > 100) return refusal(place, text);
    percents.push(Number(found[1]));
  }
  const [first, second] = percents;
  await Promise.all([load("common"), load(first)]);
  const { common, answers } = window.robustpool, own = answers[first][second];
  if (!own) return refusal(1, body.forecasts[1]);
  const reply = { ...common, ...own };
  for (const name of ["reason", "worlds", "on_base_rate"]) reply[name] = filled(reply[name], common[name]);
  if (own.says) reply.rules = common.rules.map((rule, place) => ({ ...rule, text: own.says[place] }));
  return reply;
}

export const page = null;
export const full = false; // two forecasters, whole percents, and nothing known
