// Conversations: kept in the browser, answered by the server token by token.

import { ask, events, keep, kept, notice } from "./api.js";

const at = (id) => document.getElementById(id);
const SETTINGS = ["system", "temperature", "top_p", "top_k", "min_p", "max_tokens", "seed"];
const STORE = "warpsmith.conversations";

// Each { id, title, messages: [{ role, content }] }, the newest first.
let all = kept(STORE, []);
if (!Array.isArray(all)) all = [];
all = all.filter((one) => one && Array.isArray(one.messages));
let open = null;
let running = null;

function save() {
  if (!keep(STORE, all)) notice("the browser's memory is full: delete some conversations");
}

function fresh() {
  open = { id: crypto.randomUUID?.() ?? String(Date.now()), title: "", messages: [] };
  draw();
  at("prompt").focus();
}

function drawList() {
  at("conversations").replaceChildren(...all.map((one) => {
    const item = document.createElement("li");
    const name = document.createElement("button");
    name.type = "button";
    name.textContent = one.title;
    name.setAttribute("aria-current", String(one === open));
    name.addEventListener("click", () => {
      halt();
      open = one;
      draw();
    });
    const remove = document.createElement("button");
    remove.type = "button";
    remove.textContent = "✕";
    remove.setAttribute("aria-label", `Delete “${one.title}”`);
    remove.addEventListener("click", () => {
      if (one === open) halt();
      all = all.filter((other) => other !== one);
      save();
      if (one === open) fresh();
      else drawList();
    });
    item.append(name, remove);
    return item;
  }));
}

function drawn(message) {
  const box = document.createElement("article");
  box.className = `message ${message.role}`;
  const who = document.createElement("h2");
  who.textContent = message.role === "user" ? "You" : "Model";
  const text = document.createElement("div");
  text.textContent = message.content;
  box.append(who, text);
  return { box, text };
}

function draw() {
  drawList();
  at("messages").replaceChildren(...open.messages.map((message) => drawn(message).box));
  at("messages").scrollTop = at("messages").scrollHeight;
  tell();
}

function tell() {
  at("stop").hidden = !running;
  at("send").hidden = Boolean(running);
  at("again").disabled = Boolean(running) || !open.messages.some(({ role }) => role === "user");
}

function halt() {
  running?.abort();
}

function number(id) {
  const input = at(id);
  return input.value === "" || !input.checkValidity() ? undefined : Number(input.value);
}

// Has the last message of the user answered.
async function answer() {
  const own = open;
  const stop = new AbortController();
  running = stop;
  notice();
  const system = at("system").value.trim();
  const messages = [...(system ? [{ role: "system", content: system }] : []), ...own.messages];
  const message = { role: "assistant", content: "" };
  own.messages.push(message);
  const { box, text } = drawn(message);
  at("messages").append(box);
  box.setAttribute("aria-busy", "true");
  tell();
  at("progress").textContent = "waiting for the model";
  const start = performance.now();
  let tokens = 0;
  let said = "";
  try {
    const made = await ask("/v1/chat/completions", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      signal: stop.signal,
      body: JSON.stringify({
        model: at("model").value || undefined,
        messages,
        stream: true,
        temperature: number("temperature"),
        top_p: number("top_p"),
        top_k: number("top_k"),
        min_p: number("min_p"),
        max_tokens: number("max_tokens"),
        seed: number("seed"),
      }),
    });
    for await (const event of events(made)) {
      const choice = event.choices?.[0];
      if (!choice) continue;
      tokens += 1;
      message.content += choice.delta?.content ?? "";
      text.textContent = message.content;
      const log = at("messages");
      // Who has scrolled up reads.
      if (log.scrollHeight - log.scrollTop - log.clientHeight < 120) log.scrollTop = log.scrollHeight;
      const seconds = (performance.now() - start) / 1000;
      at("progress").textContent = `${(tokens / seconds).toFixed(1)} tokens a second`;
      if (choice.finish_reason === "length") said = "the answer ends at the most tokens";
    }
    said ||= at("progress").textContent;
  } catch (error) {
    said = error.name === "AbortError" ? "stopped" : "";
    if (error.name !== "AbortError") notice(error.message);
  }
  if (running === stop) running = null;
  box.setAttribute("aria-busy", "false");
  if (!message.content) {
    own.messages.splice(own.messages.indexOf(message), 1);
    box.remove();
  }
  at("progress").textContent = said;
  save();
  tell();
}

function send() {
  const content = at("prompt").value.trim();
  if (!content || running) return;
  at("prompt").value = "";
  const message = { role: "user", content };
  open.messages.push(message);
  if (!open.title) {
    open.title = content.slice(0, 60);
    all.unshift(open);
    drawList();
  }
  save();
  at("messages").append(drawn(message).box);
  at("messages").scrollTop = at("messages").scrollHeight;
  answer();
}

export function begin() {
  const settings = kept("warpsmith.settings", {});
  for (const id of SETTINGS) {
    if (typeof settings[id] === "string") at(id).value = settings[id];
    at(id).addEventListener("change", () => {
      keep("warpsmith.settings", Object.fromEntries(SETTINGS.map((one) => [one, at(one).value])));
    });
  }
  at("new").addEventListener("click", () => {
    halt();
    fresh();
  });
  at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  at("prompt").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  });
  at("stop").addEventListener("click", () => {
    halt();
    at("prompt").focus();
  });
  at("again").addEventListener("click", () => {
    while (open.messages.length && open.messages.at(-1).role !== "user") open.messages.pop();
    draw();
    answer();
  });
  open = all[0] ?? null;
  if (open) draw();
  else fresh();
}

export function ready(models) {
  const none = models.length === 0;
  at("prompt").disabled = at("send").disabled = none;
  if (none) at("progress").textContent = "no language model is served here";
}
