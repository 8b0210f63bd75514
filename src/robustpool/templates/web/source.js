// Where the Combine page gets its answers: from the server. The static build has `static.js` in its place.
"use strict";
import { call } from "./common.js";

export const ask = (body, signal) => call("POST", "explain", body, { signal, headers: { Prefer: "handling=lenient" } });
export const page = (body) => call("POST", "explain/page", body, { blob: true });
export const full = true; // any number of forecasters, any numbers, and what is known of them
