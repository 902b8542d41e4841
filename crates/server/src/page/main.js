// Tabs, colours, and which models there are.

import { fill, keep, kept, models, notice } from "./api.js";
import * as chat from "./chat.js";
import * as speech from "./speech.js";
import * as status from "./status.js";

const tabs = [...document.querySelectorAll("[role=tab]")];

function show(tab) {
  for (const one of tabs) {
    const chosen = one === tab;
    one.setAttribute("aria-selected", String(chosen));
    one.tabIndex = chosen ? 0 : -1;
    document.getElementById(one.getAttribute("aria-controls")).hidden = !chosen;
  }
  status.watch(tab.id === "tab-status");
  keep("warpsmith.tab", tab.id);
}

for (const tab of tabs) tab.addEventListener("click", () => show(tab));
document.getElementById("tabs").addEventListener("keydown", (event) => {
  const at = tabs.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  const tab = tabs[(to + tabs.length) % tabs.length];
  tab.focus();
  show(tab);
});

const THEMES = ["system", "light", "dark"];
const themed = document.getElementById("theme");

function paint(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  themed.setAttribute("aria-label", `Colours: ${theme === "system" ? "as the system" : theme}`);
  themed.title = themed.getAttribute("aria-label");
}

let theme = kept("warpsmith.theme", "system");
if (!THEMES.includes(theme)) theme = "system";
paint(theme);
themed.addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  keep("warpsmith.theme", theme);
  paint(theme);
});

show(tabs.find((tab) => tab.id === kept("warpsmith.tab", "tab-chat")) ?? tabs[0]);
chat.begin();
speech.begin();
status.begin();

try {
  const found = await models();
  fill(document.getElementById("model"), found.text);
  fill(document.getElementById("speech-model"), found.speech);
  chat.ready(found.text);
  speech.ready(found.speech);
  document.body.dataset.ready = "yes";
} catch (error) {
  notice(error.message);
}
