// What the server counts, every two seconds while it is looked at.

import { ask, fill, models, notice } from "./api.js";

const at = (id) => document.getElementById(id);
const EVERY = 2000;
const KEPT = 90;
let timer = null;
let looked = false;
let before = null;
const rates = [];

// Lines of Prometheus as { name, labels, value }.
export function parsed(text) {
  return text.split("\n").flatMap((line) => {
    const found = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    return found ? [{ name: found[1], labels: found[2] ?? "", value: Number(found[3]) }] : [];
  });
}

function sum(figures, name) {
  const own = figures.filter((figure) => figure.name === `warpsmith_${name}`);
  return own.reduce((all, { value }) => all + value, 0);
}

function mean(figures, name) {
  const count = sum(figures, `${name}_count`);
  return count ? sum(figures, `${name}_sum`) / count : null;
}

function milliseconds(seconds) {
  return seconds === null ? "–" : `${(seconds * 1000).toFixed(seconds < 0.1 ? 1 : 0)} ms`;
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (count >= 1024 && at + 1 < units.length) {
    count /= 1024;
    at += 1;
  }
  return `${at ? count.toFixed(1) : count} ${units[at]}`;
}

function tile([name, value]) {
  const box = document.createElement("div");
  box.className = "tile";
  const number = document.createElement("strong");
  number.textContent = value;
  const label = document.createElement("span");
  label.textContent = name;
  box.append(number, label);
  return box;
}

function draw(figures) {
  const now = { when: performance.now(), tokens: sum(figures, "tokens_total") };
  if (before) rates.push(Math.max(0, (now.tokens - before.tokens) / ((now.when - before.when) / 1000)));
  before = now;
  while (rates.length > KEPT) rates.shift();
  const most = Math.max(1, ...rates);
  const points = rates.map((rate, i) => {
    const x = 600 * (KEPT - rates.length + i + 1) / KEPT;
    return `${x.toFixed(1)},${(116 - 110 * rate / most).toFixed(1)}`;
  });
  at("rate-line").setAttribute("points", points.join(" "));
  at("rate-name").textContent = `Tokens a second: ${(rates.at(-1) ?? 0).toFixed(1)} now, at most ${Math.max(0, ...rates).toFixed(1)}`;
  const pages = sum(figures, "pages");
  at("tiles").replaceChildren(...[
    ["requests", sum(figures, "requests_total")],
    ["waiting", sum(figures, "waiting")],
    ["passes", sum(figures, "steps_total")],
    ["tokens made", now.tokens],
    ["to the first token, mean", milliseconds(mean(figures, "time_to_first_token_seconds"))],
    ["between tokens, mean", milliseconds(mean(figures, "time_between_tokens_seconds"))],
    ["pages in use", pages ? `${sum(figures, "pages_used")} of ${pages}` : "–"],
    ["pages shared", sum(figures, "pages_shared")],
    ["launches", sum(figures, "launches_total")],
    ["to devices", bytes(sum(figures, "to_device_bytes_total"))],
    ["from devices", bytes(sum(figures, "from_device_bytes_total"))],
    ["heard", `${sum(figures, "heard_seconds_total").toFixed(0)} s`],
  ].map(tile));
  const plain = figures.filter(({ name }) => !name.endsWith("_bucket"));
  at("figures").replaceChildren(...plain.map(({ name, labels, value }) => {
    const row = document.createElement("tr");
    for (const text of [name.replace(/^warpsmith_/, ""), labels.replaceAll('"', ""), String(value)]) {
      row.append(Object.assign(document.createElement("td"), { textContent: text }));
    }
    return row;
  }));
}

async function look() {
  if (looked) return;
  looked = true;
  try {
    draw(parsed(await (await ask("/metrics")).text()));
    notice();
  } catch (error) {
    notice(error.message);
  } finally {
    looked = false;
  }
}

// Puts a picture that the server draws into its place, with its words behind it.
async function show(kind, model) {
  const svg = await (await ask(`/pictures/${kind}/${encodeURIComponent(model)}`)).text();
  // Another model may have been chosen meanwhile.
  if (at("drawn-model").value !== model) return;
  const own = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const said = (name) => own.querySelector(`:scope > ${name}`)?.textContent ?? "";
  const image = new Image();
  image.alt = `${said("title")}; in words below`;
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  const words = document.createElement("details");
  const text = Object.assign(document.createElement("pre"), { textContent: said("desc"), tabIndex: 0 });
  words.append(Object.assign(document.createElement("summary"), { textContent: "In words" }), text);
  at(kind).replaceChildren(image, words);
  at(kind).hidden = false;
}

let drawn = null;

// The operations of the model that is chosen, once for each.
async function operations() {
  const model = at("drawn-model").value;
  if (!model || drawn === model) return;
  drawn = model;
  at("roofline").hidden = true;
  at("measured").textContent = "";
  try {
    await show("graph", model);
  } catch (error) {
    drawn = null;
    at("graph").textContent = error.message;
  }
}

async function measure() {
  const [model, button] = [at("drawn-model").value, at("measure")];
  if (button.getAttribute("aria-disabled") === "true") return;
  // One that is disabled would lose the keyboard's focus.
  button.setAttribute("aria-disabled", "true");
  at("measured").textContent = "Measuring …";
  try {
    await show("roofline", model);
    at("measured").textContent = "Measured.";
  } catch (error) {
    at("measured").textContent = error.message;
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

export function watch(seen) {
  clearInterval(timer);
  timer = null;
  if (!seen) return;
  look();
  operations();
  timer = setInterval(() => {
    if (!document.hidden) look();
  }, EVERY);
}

export async function begin() {
  at("drawn-model").addEventListener("change", operations);
  at("measure").addEventListener("click", measure);
  try {
    const { text, speech } = await models();
    const told = text.map(({ id, max_model_len: length }) => `${id} (${length} tokens)`);
    at("served").textContent = `Served here: ${[...told, ...speech.map(({ id }) => id)].join(", ")}`;
    fill(at("drawn-model"), text);
    at("pictures").hidden = text.length === 0;
    if (timer) operations();
  } catch { /* the tab that is shown says so */ }
}
