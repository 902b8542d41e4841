// Sounds that are dropped, chosen or recorded, written down, with words lit while they play.

import { ask, notice } from "./api.js";
import { clock, decoded, download, written } from "./sound.js";

const at = (id) => document.getElementById(id);
let segments = [];
let words = [];
let name = "transcript";
let running = null;
let recorder = null;
let playing = null;

function lit(now) {
  let on = null;
  for (const { start, end, place } of words) {
    const here = start <= now && now < end;
    place.classList.toggle("lit", here);
    if (here) on = place;
  }
  on?.scrollIntoView({ block: "nearest" });
}

function timed({ word, start, end }) {
  const place = document.createElement("button");
  place.type = "button";
  place.className = "word";
  place.textContent = word;
  place.title = `${clock(start, ".")} to ${clock(end, ".")}`;
  // Words are many: one stop of the Tab key is enough for all.
  place.tabIndex = -1;
  place.addEventListener("click", () => {
    at("player").currentTime = start;
    at("player").play();
  });
  words.push({ start, end, place });
  return place;
}

function draw(made) {
  segments = made.segments;
  words = [];
  const rest = [...(made.words ?? [])];
  const pieces = segments.map((segment, i) => {
    const line = document.createElement("p");
    const time = document.createElement("time");
    time.textContent = clock(segment.start, ".").slice(0, 8);
    line.append(time);
    const last = i === segments.length - 1;
    let own = 0;
    while (rest.length && (last || rest[0].start < segment.end)) {
      line.append(timed(rest.shift()), " ");
      own += 1;
    }
    if (!own) line.append(segment.text.trim());
    return line;
  });
  at("transcript").replaceChildren(...pieces);
  at("heard").hidden = false;
}

// Has a sound written down.
async function hear(blob, title) {
  running?.abort();
  const stop = new AbortController();
  running = stop;
  notice();
  name = title.replace(/\.[^.]*$/, "") || "transcript";
  at("heard").hidden = true;
  at("hearing").textContent = `listening to ${title}`;
  if (playing) URL.revokeObjectURL(playing);
  playing = URL.createObjectURL(blob);
  at("player").src = playing;
  const form = new FormData();
  form.append("file", blob, title);
  form.append("model", at("speech-model").value);
  form.append("response_format", "verbose_json");
  form.append("timestamp_granularities[]", "segment");
  form.append("timestamp_granularities[]", "word");
  const translate = at("translate").checked;
  const language = at("language").value.trim();
  if (language && !translate) form.append("language", language);
  const route = translate ? "translations" : "transcriptions";
  const start = performance.now();
  try {
    const made = await ask(`/v1/audio/${route}`, { method: "POST", body: form, signal: stop.signal });
    const heard = await made.json();
    draw(heard);
    const took = ((performance.now() - start) / 1000).toFixed(1);
    const told = `${heard.duration.toFixed(1)} s of ${heard.language}, written down in ${took} s`;
    const missing = (heard.missing ?? []).map((piece) => `missing from ${clock(piece.start, ".")}: ${piece.why}`);
    at("hearing").textContent = [told, ...missing].join("; ");
  } catch (error) {
    if (error.name === "AbortError") return;
    at("hearing").textContent = "";
    notice(error.message);
  } finally {
    if (running === stop) running = null;
  }
}

async function record() {
  if (recorder) {
    recorder.stop();
    return;
  }
  notice();
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch (error) {
    notice(`the microphone cannot be used: ${error.message}`);
    return;
  }
  const parts = [];
  recorder = new MediaRecorder(stream);
  recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
  recorder.addEventListener("stop", async () => {
    stream.getTracks().forEach((track) => track.stop());
    const kind = recorder.mimeType;
    recorder = null;
    at("record").textContent = "Record";
    at("record").setAttribute("aria-pressed", "false");
    try {
      await hear(await decoded(new Blob(parts, { type: kind })), "recording.wav");
    } catch {
      notice("nothing was recorded");
    }
  });
  recorder.start();
  at("record").textContent = "Stop recording";
  at("record").setAttribute("aria-pressed", "true");
  at("hearing").textContent = "recording";
}

export function begin() {
  const drop = at("drop");
  // A sound that misses the field is not opened by the browser.
  for (const kind of ["dragover", "drop"]) {
    document.addEventListener(kind, (event) => event.preventDefault());
  }
  drop.addEventListener("dragover", () => drop.classList.add("over"));
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    drop.classList.remove("over");
    const [file] = event.dataTransfer.files;
    if (file) hear(file, file.name);
  });
  at("file").addEventListener("change", () => {
    const [file] = at("file").files;
    if (file) hear(file, file.name);
    at("file").value = "";
  });
  at("record").addEventListener("click", record);
  at("record").disabled = !navigator.mediaDevices || !window.MediaRecorder;
  at("player").addEventListener("timeupdate", () => lit(at("player").currentTime));
  at("player").addEventListener("seeked", () => lit(at("player").currentTime));
  at("player").addEventListener("play", function each() {
    lit(at("player").currentTime);
    if (!at("player").paused) requestAnimationFrame(each);
  });
  for (const button of document.querySelectorAll("#downloads button")) {
    const { format } = button.dataset;
    button.addEventListener("click", () => download(`${name}.${format}`, written(segments, format)));
  }
}

export function ready(models) {
  if (models.length) return;
  at("file").disabled = at("record").disabled = true;
  at("hearing").textContent = "no speech model is served here";
}
