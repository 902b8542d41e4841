"""The page of `warpsmith serve` in headless Chromium, by the WebDriver protocol: nothing but Python is needed beside both.

    page.py http://127.0.0.1:8080 KEY SOUND.wav PICTURES

`cargo xtask page` starts a server with a key, installs Chromium from Debian where it is missing, and runs this.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
PORT = 9517


class Browser:
    def __init__(self, scheme: str = "light") -> None:
        self.profile = tempfile.TemporaryDirectory()
        arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--use-fake-ui-for-media-stream",
            "--use-fake-device-for-media-stream",
            "--autoplay-policy=no-user-gesture-required",
            f"--user-data-dir={self.profile.name}",
        ]
        options = {"args": arguments, "binary": "/usr/bin/chromium"}
        made = self.call(
            "POST", "/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        )
        self.session = f"/session/{made['sessionId']}"
        self.scheme(scheme)

    @staticmethod
    def call(method: str, path: str, body: object = None) -> object:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{PORT}{path}", data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None

    def do(self, method: str, path: str, body: object = None) -> object:
        return self.call(method, self.session + path, body)

    def devtools(self, command: str, **params: object) -> object:
        return self.do("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def scheme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def size(self, width: int, height: int) -> None:
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def go(self, address: str) -> None:
        self.do("POST", "/url", {"url": address})

    def run(self, script: str, *arguments: object) -> object:
        return self.do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector: str) -> str:
        return self.do("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector: str) -> None:
        self.do("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self.do("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def until(self, what: str, script: str, seconds: float = 60) -> object:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.run(script)
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"{what}: not within {seconds} s; the notice says {self.text('#notice')!r}")

    def picture(self, place: Path) -> None:
        place.write_bytes(base64.b64decode(self.do("GET", "/screenshot")))

    def close(self) -> None:
        self.do("DELETE", "")
        self.profile.cleanup()


LAST = "document.querySelector('.message.assistant:last-of-type div')?.textContent ?? ''"
DONE = "return document.getElementById('stop').hidden"


def chat(browser: Browser, pictures: Path) -> None:
    browser.run(
        "for (const [id, value] of [['temperature', '0'], ['max_tokens', '40']]) {"
        "  const input = document.getElementById(id); input.value = value;"
        "  input.dispatchEvent(new Event('change')); }"
    )
    browser.type("#prompt", "Name three colours of the rainbow.\n")
    browser.until("an answer", f"return {LAST}.length > 0")
    seen = {browser.run(f"return {LAST}")}
    while not browser.run(DONE):
        seen.add(browser.run(f"return {LAST}"))
        time.sleep(0.02)
    whole = browser.run(f"return {LAST}")
    assert len(seen) > 3 and all(whole.startswith(part) for part in seen), seen
    assert "tokens a second" in browser.text("#progress") or "most tokens" in browser.text("#progress")
    browser.picture(pictures / "page-chat.png")
    # The same again, as the temperature is 0.
    browser.click("#again")
    browser.until("the answer once more", DONE)
    assert browser.run(f"return {LAST}") == whole
    assert browser.run("return document.querySelectorAll('.message').length") == 2


def stop(browser: Browser) -> None:
    browser.run(
        "const input = document.getElementById('max_tokens'); input.value = '2000';"
        "input.dispatchEvent(new Event('change'));"
    )
    browser.type("#prompt", "Tell me a very long story about a lighthouse.\n")
    browser.until("an answer", f"return {LAST}.length > 20")
    browser.click("#stop")
    browser.until("the end", DONE, 5)
    assert browser.text("#progress") == "stopped"
    kept = browser.run(f"return {LAST}")
    time.sleep(1)
    assert browser.run(f"return {LAST}") == kept
    # What was said is there after the page is loaded again, and a new conversation is another one.
    browser.go(browser.run("return location.href"))
    browser.until("the page", "return document.body.dataset.ready")
    assert browser.run(f"return {LAST}") == kept
    browser.click("#new")
    assert browser.run("return document.querySelectorAll('.message').length") == 0
    assert browser.run("return document.querySelectorAll('#conversations li').length") == 1
    browser.click("#conversations li button")
    assert browser.run("return document.querySelectorAll('.message').length") == 4


def drop(browser: Browser, sound: Path) -> None:
    """Drops a file as a person does: an event with the file."""
    browser.run(
        "const bytes = Uint8Array.from(atob(arguments[0]), (c) => c.charCodeAt(0));"
        "const data = new DataTransfer();"
        "data.items.add(new File([bytes], arguments[1], { type: 'audio/wav' }));"
        "document.getElementById('drop').dispatchEvent("
        "  new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));",
        base64.b64encode(sound.read_bytes()).decode(),
        sound.name,
    )


def speech(browser: Browser, sound: Path, pictures: Path) -> None:
    browser.click("#tab-speech")
    drop(browser, sound)
    browser.until("a transcript", "return !document.getElementById('heard').hidden", 120)
    text = browser.text("#transcript")
    assert "country" in text, text
    words = browser.run("return [...document.querySelectorAll('.word')].map((w) => [w.textContent, w.title])")
    assert len(words) > 15 and all(" to " in title for _, title in words), words
    # The word at 5 s is lit when the sound is there.
    browser.run("const p = document.getElementById('player'); p.currentTime = 5;")
    lit = browser.until("a word that is lit", "return document.querySelector('.word.lit')?.title")
    start, end = (sum(float(n) * 60**i for i, n in enumerate(reversed(t.split(":")))) for t in lit.split(" to "))
    assert start <= 5 <= end, lit
    time.sleep(0.3)
    assert browser.run("return document.querySelectorAll('.word.lit').length") == 1
    browser.picture(pictures / "page-transcribe.png")
    for kind, begin in [("srt", "1\n00:00:0"), ("vtt", "WEBVTT\n\n00:00:0"), ("txt", "")]:
        browser.run(
            "window.saved = null; const make = URL.createObjectURL;"
            "URL.createObjectURL = (blob) => { blob.text().then((t) => { window.saved = t; });"
            "  URL.createObjectURL = make; return make.call(URL, blob); };"
        )
        browser.click(f"#downloads [data-format={kind}]")
        saved = browser.until(f"a file {kind}", "return window.saved")
        assert saved.startswith(begin) and "country" in saved and saved.endswith("\n"), saved
    # The fake microphone beeps: what is recorded comes back as a sound that was heard, or as nothing said.
    browser.click("#record")
    browser.until("a recording", "return document.getElementById('record').textContent === 'Stop recording'")
    time.sleep(1.5)
    browser.click("#record")
    told = browser.until("what was recorded", "const t = document.getElementById('hearing').textContent;"
                         "return t.includes('written down') && t", 120)
    assert 0.8 < float(told.split()[0]) < 5, told


def status(browser: Browser, pictures: Path) -> None:
    browser.click("#tab-status")
    browser.until("figures", "return document.querySelectorAll('.tile').length > 8")
    made = browser.run("return [...document.querySelectorAll('.tile')].find((t) => "
                       "t.querySelector('span').textContent === 'tokens made').querySelector('strong').textContent")
    assert int(made) > 40, made
    assert "smollm2" in browser.text("#served").lower()
    # The line rises while a model works.
    browser.run(
        "fetch('/v1/completions', { method: 'POST', headers: { 'Content-Type': 'application/json',"
        "  Authorization: `Bearer ${sessionStorage.getItem('warpsmith.key')}` },"
        "  body: JSON.stringify({ prompt: 'Once upon a time', max_tokens: 150, temperature: 0 }) })"
    )
    browser.until("tokens a second", "return /[1-9]/.test(document.getElementById('rate-name').textContent)", 30)
    browser.until("a third look", "return document.getElementById('rate-line').getAttribute('points').includes(' ')")
    browser.picture(pictures / "page-status.png")
    # The operations are drawn, with words for those who do not see them; the roofline where it is asked for, by keyboard.
    loaded = "const image = document.querySelector('#%s img'); return image?.complete && image.naturalWidth"
    assert browser.until("the graph", loaded % "graph") > 100
    assert "smollm2" in browser.run("return document.querySelector('#graph img').alt.toLowerCase()")
    words = browser.text("#graph pre")
    assert words.startswith("plain: ") and "\nfused: " in words, words
    assert browser.run("return document.getElementById('roofline').hidden")
    browser.type("#measure", "\ue007")
    assert browser.text("#measured") == "Measuring …"
    assert browser.until("the roofline", loaded % "roofline", 120) > 100
    assert browser.text("#measured") == "Measured."
    assert browser.run("return document.activeElement.id") == "measure"
    words = browser.text("#roofline pre")
    assert "attn" in words and "roof" in words, words
    # Once: what is asked for again is there at once.
    start = time.monotonic()
    browser.click("#measure")
    browser.until("the same again", "return document.getElementById('measured').textContent === 'Measured.'")
    assert time.monotonic() - start < 1
    browser.run("document.getElementById('graph-name').scrollIntoView()")
    browser.picture(pictures / "page-pictures.png")


def looks(browser: Browser, pictures: Path) -> None:
    back = "return getComputedStyle(document.body).backgroundColor"
    light = browser.run(back)
    browser.scheme("dark")
    assert browser.run(back) != light == "rgb(255, 255, 255)"
    assert "invert" in browser.run("return getComputedStyle(document.querySelector('#graph img')).filter")
    browser.click("#tab-chat")
    browser.picture(pictures / "page-dark.png")
    # The button goes before the system.
    browser.click("#theme")
    assert browser.run(back) == light
    browser.click("#theme")
    assert browser.run(back) != light
    browser.click("#theme")
    browser.scheme("light")
    browser.size(390, 844)
    for tab in ("chat", "speech", "status"):
        browser.click(f"#tab-{tab}")
        wide = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1] == 390, (tab, wide)
        hidden = browser.run(
            "return [...document.querySelectorAll('button, input, select, textarea')].filter((e) => {"
            "  const r = e.getBoundingClientRect();"
            "  return e.checkVisibility() && !e.matches('.unseen') && (r.left < -1 || r.right > 391); })"
            ".map((e) => e.id || e.textContent)"
        )
        assert hidden == [], (tab, hidden)
    browser.click("#tab-chat")
    browser.picture(pictures / "page-390.png")
    browser.size(1100, 800)


def keyboard(browser: Browser) -> None:
    """Every control has a name, and tabs go by arrows."""
    nameless = browser.run(
        "return [...document.querySelectorAll('button, input, select, textarea')].filter((e) =>"
        "  !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map((e) => e.id)"
    )
    assert nameless == [], nameless
    browser.click("#tab-chat")
    browser.type("#tab-chat", "\ue014")
    assert browser.run("return document.activeElement.id") == "tab-speech"
    assert browser.run("return document.getElementById('panel-chat').hidden")
    browser.type("#tab-speech", "\ue011")
    # Contrast of text, quiet text and marks, by WCAG's formula: 4.5 and more.
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        for least, ratio in enumerate(browser.run(CONTRAST)):
            assert ratio >= 4.5, (scheme, least, ratio)
    browser.scheme("light")


CONTRAST = """
const style = getComputedStyle(document.documentElement);
const light = (name) => {
  const hex = style.getPropertyValue(name).trim().slice(1);
  const parts = [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
  const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
return [['--text', '--back'], ['--quiet', '--back'], ['--quiet', '--field'], ['--text', '--own'],
        ['--on-mark', '--mark'], ['--on-lit', '--lit'], ['--bad', '--back']].map((pair) => {
  const [a, b] = pair.map(light).sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
});
"""


def main() -> None:
    address, key, sound, pictures = sys.argv[1:]
    pictures = Path(pictures)
    pictures.mkdir(parents=True, exist_ok=True)
    driver = subprocess.Popen(
        ["/usr/bin/chromedriver", f"--port={PORT}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(100):
            try:
                if Browser.call("GET", "/status")["ready"]:
                    break
            except OSError:
                time.sleep(0.1)
        browser = Browser()
        browser.size(1100, 800)
        browser.go(address)
        # A wrong key is asked for again, the right one is kept for the tab.
        browser.until("the question for a key", "return document.getElementById('key-asked').open")
        browser.type("#key", "wrong\n")
        browser.until("the question again", "return document.getElementById('key-said').textContent.includes('not one')"
                      " && document.getElementById('key-asked').open")
        browser.type("#key", key + "\n")
        browser.until("the models", "return document.body.dataset.ready")
        chat(browser, pictures)
        stop(browser)
        speech(browser, Path(sound), pictures)
        status(browser, pictures)
        looks(browser, pictures)
        keyboard(browser)
        # Nothing that the policy forbids was tried, and no script failed.
        logged = [one for one in browser.do("POST", "/se/log", {"type": "browser"}) if one["level"] == "SEVERE"]
        logged = [one["message"] for one in logged if "401" not in one["message"]]
        assert logged == [], logged
        browser.close()
    finally:
        driver.terminate()
        driver.wait()
    print("the page does what it should")


if __name__ == "__main__":
    main()
