// Requests to the server, with the key where it wants one.

const KEY = "warpsmith.key";

export class Failure extends Error {}

// What a field of the browser's memory holds, or a value where there is nothing or what is there is damaged.
export function kept(name, otherwise) {
  try {
    const text = localStorage.getItem(name);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

let asked = null;

// Asks for the key; all who wait get the same answer.
function askForKey(said) {
  if (!asked) {
    const dialog = document.getElementById("key-asked");
    document.getElementById("key-said").textContent = said;
    asked = new Promise((resolve, reject) => {
      dialog.addEventListener("close", () => {
        asked = null;
        const input = document.getElementById("key");
        const key = input.value;
        input.value = "";
        if (!key) return reject(new Failure("no key was given"));
        sessionStorage.setItem(KEY, key);
        resolve();
      }, { once: true });
      dialog.showModal();
    });
  }
  return asked;
}

// A request; errors of the server are failures with its words.
export async function ask(path, options = {}) {
  for (;;) {
    const headers = new Headers(options.headers);
    const key = sessionStorage.getItem(KEY);
    if (key) headers.set("Authorization", `Bearer ${key}`);
    let answer;
    try {
      answer = await fetch(path, { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Failure("the server does not answer");
    }
    if (answer.ok) return answer;
    let said = `${answer.status} ${answer.statusText}`;
    try {
      said = (await answer.json()).error.message;
    } catch { /* it said nothing that is JSON */ }
    if (answer.status === 401) {
      // Another request may have brought a key meanwhile.
      if (key !== sessionStorage.getItem(KEY)) continue;
      await askForKey(said);
      continue;
    }
    throw new Failure(said);
  }
}

// Events of a stream, as objects, until it ends.
export async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const parts = rest.split(/\r?\n\r?\n/);
    rest = parts.pop();
    for (const part of parts) {
      const lines = part.split(/\r?\n/).filter((line) => line.startsWith("data:"));
      const data = lines.map((line) => line.slice(5).trimStart()).join("\n");
      if (data === "[DONE]") return;
      if (!data) continue;
      const event = JSON.parse(data);
      if (event.error) throw new Failure(event.error.message);
      yield event;
    }
  }
}

// Says what went wrong, until something goes right.
export function notice(text) {
  const place = document.getElementById("notice");
  place.textContent = text ?? "";
  place.hidden = !text;
}

// The models that are served: those of text have a length.
export async function models() {
  const { data } = await (await ask("/v1/models")).json();
  return {
    text: data.filter((model) => model.max_model_len !== undefined),
    speech: data.filter((model) => model.max_model_len === undefined),
  };
}

export function fill(select, list) {
  select.replaceChildren(...list.map(({ id }) => new Option(id, id)));
}
