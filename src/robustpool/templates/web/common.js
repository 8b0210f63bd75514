// What the pages share: elements, calls of the API, and messages. Texts and numbers come from the server as they are shown.
"use strict";

export const by = (id) => document.getElementById(id);

export function create(tag, text, attributes = {}) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

export class Problem extends Error {
  constructor(sentence, status) { super(sentence); this.status = status; }
}

// Call the API: an object is sent as JSON; a File, a Blob and FormData as they are. What comes back is the parsed JSON; a problem is thrown.
export async function call(method, path, body, options = {}) {
  const headers = { ...(options.headers ?? {}) };
  if (body !== undefined && !(body instanceof Blob || body instanceof FormData)) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(`/api/v1/${path}`, { method, body, headers, signal: options.signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer. Is `robustpool serve` still running?", 0);
  }
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw new Problem(problem.detail ?? `The server answered ${response.status}.`, response.status);
  }
  return options.blob ? response.blob() : options.text ? response.text() : response.status === 204 ? null : response.json();
}

export function download(name, content, type = "application/json") {
  const link = create("a", "", { href: URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
