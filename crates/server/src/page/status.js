// What the server counts, every two seconds while it is looked at.

import { ask, models, notice } from "./api.js";

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

export function watch(seen) {
  clearInterval(timer);
  timer = null;
  if (!seen) return;
  look();
  timer = setInterval(() => {
    if (!document.hidden) look();
  }, EVERY);
}

export async function begin() {
  try {
    const { text, speech } = await models();
    const told = text.map(({ id, max_model_len: length }) => `${id} (${length} tokens)`);
    at("served").textContent = `Served here: ${[...told, ...speech.map(({ id }) => id)].join(", ")}`;
  } catch { /* the tab that is shown says so */ }
}
