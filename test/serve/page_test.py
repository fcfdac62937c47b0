#!/usr/bin/env python3
"""Uses the web page of the server in headless Chromium.

usage: page_test.py PAGE_SERVER [--shots FOLDER]
       page_test.py --url URL --shots FOLDER        (pictures of a running server's page)

PAGE_SERVER is test/serve/PageServer.cpp. Exits with 77 (skipped) when there is no Chromium ($FUSEC_CHROMIUM names one).
"""
import argparse
import os
import shutil
import subprocess
import sys

from chromium import Chromium

LOOKS = {"light": {}, "dark": {"dark": True}, "narrow": {"width": 400, "height": 800}}
ANSWER = "document.querySelector('.turn.assistant:last-child .text')?.textContent"
FACTS = "(document.querySelector('.turn.assistant:last-child .facts')?.textContent ?? '')"
# Unlike el.click(), which needs no layout, this fails for what a user cannot reach.
CLICK = """(() => { const e = document.getElementById('%s');
  const b = e.getBoundingClientRect(), at = document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2);
  if (at !== e || e.disabled) throw new Error('cannot click %s');
  e.click(); })()"""


class Server:
    def __init__(self, program, *options):
        self.process = subprocess.Popen([program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}/"

    def __enter__(self):
        return self.url

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)


def check(condition, what):
    if not condition:
        raise SystemExit(f"failed: {what}")


def click(page, name):
    page.value(CLICK % (name, name))


def write(page, text):
    page.value(f"document.getElementById('prompt').value = {text!r}")
    click(page, "send")


def ready(page):
    page.wait("document.getElementById('model')?.textContent.includes('tokens of context')")


def chat(page):
    ready(page)
    write(page, "2 < 3 <img src=x onerror=alert(1)> & so on")
    page.wait(f"{FACTS}.startsWith('stop')")
    check(page.value(ANSWER) == "You wrote: 2 < 3 <img src=x onerror=alert(1)> & so on", page.value(ANSWER))
    check(page.value("document.querySelector('#log img')") is None, "the model's text became HTML")
    check("prompt tokens cached" in page.value(FACTS), page.value(FACTS))
    check(page.value("document.querySelectorAll('.turn details dt').length") >= 12, "no explanation")
    click(page, "again")
    page.wait(f"{FACTS}.startsWith('stop')")
    check(page.value("document.querySelectorAll('.turn').length") == 2, "regenerating replaces the answer")
    page.value("document.getElementById('max-tokens').value = ''")
    write(page, "on and on")
    page.wait(f"({ANSWER} ?? '').startsWith('You')")
    click(page, "stop")
    page.wait(f"{FACTS}.startsWith('stopped by you')")
    check(len(page.value(ANSWER)) < 300, "stopping cuts the answer")
    page.wait("fetch('api/stats').then((r) => r.json()).then((s) => s.running === 12)")  # The figures' own 12.
    page.value("document.getElementById('max-tokens').value = 5")
    write(page, "cut this")
    page.wait(f"{FACTS}.startsWith('length')")
    page.value("document.getElementById('temperature').value = 1000")
    write(page, "refused")
    page.wait("document.getElementById('chat-error').textContent.includes('temperature')")
    check(len(page.complaints) == 1 and "400" in page.complaints.pop(), "the console names the refusal alone")


def live(page):
    ready(page)
    click(page, "tab-live")
    page.wait("document.querySelector('#kv-sum td')?.textContent === '161 of 161'")
    pages = page.value("[...document.querySelectorAll('#kv-rows tr')].map((r) => Number(r.cells[1].textContent))")
    check(sum(pages) == 161, f"the classes {pages} sum to the pool")
    tokens = page.value("[...document.querySelectorAll('#kv-rows tr')].map((r) => Number(r.cells[2].textContent"
                        ".replaceAll(',', '')))")
    check(tokens[0] == sum(tokens[1:4]) > 0, f"tokens of live pages: {tokens}")
    first = page.value("document.getElementById('last-step').textContent")
    check("decode rows" in first, first)
    page.wait(f"document.getElementById('last-step').textContent !== {first!r}")
    page.wait("Number(document.querySelector('#figures dd').textContent) > 0")
    check(page.value("document.getElementById('latency-rows').textContent").count("ms") >= 3, "no latencies")
    drawn = ("(() => { const c = document.getElementById('%s'); return new Set(new Uint32Array(c.getContext('2d')"
             ".getImageData(0, 0, c.width, c.height).data.buffer)).size; })()")
    for name in ("timeline", "kv-map"):
        check(page.value(drawn % name) > 3, f"nothing is drawn on {name}")
    check(page.value("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window")


def keys(browser, url):
    page = browser.open(url)
    page.wait("document.getElementById('key-dialog').open")
    click(page, "key-cancel")
    page.wait("document.getElementById('model').textContent.includes('API key')")
    page = browser.open(url)
    page.wait("document.getElementById('key-dialog').open")
    page.value("document.getElementById('key').value = 'secret'; document.querySelector('#key-dialog .primary').click()")
    ready(page)
    check(page.value("localStorage.length === 0 && document.cookie === ''"), "the key is kept beyond the tab")
    write(page, "hello")
    page.wait(f"{ANSWER} === 'You wrote: hello'")
    check(all("401" in line for line in page.complaints), page.complaints)


def completion(page):
    ready(page)
    check(page.value("document.getElementById('mode').value") == "completion", "a model without a template continues")
    page.call("Input.insertText", text="Once")  # The prompt has the focus.
    page.press("Enter")
    page.wait(f"{ANSWER} === 'You wrote: Once'")
    check(page.complaints == [], page.complaints)


def polling(page):
    """Where the stream does not come through; by keyboard."""
    ready(page)
    page.call("Network.enable")
    page.call("Network.setBlockedURLs", urls=["*/api/live"])
    page.value("document.getElementById('tab-chat').focus()")
    page.press("ArrowRight")
    check(page.value("document.activeElement.id") == "tab-live", "the arrow moves to the next tab")
    page.wait("document.getElementById('live-state').textContent.includes('once a second')")
    page.wait("document.querySelector('#kv-sum td').textContent === '161 of 161'")
    check(all("api/live" in line for line in page.complaints), page.complaints)


def take_shots(browser, url, folder):
    for name, look in LOOKS.items():
        page = browser.open(url, **look)
        ready(page)
        write(page, "Tell me a short story about a cat.")
        page.wait(f"{FACTS} !== ''", timeout=60)
        page.value("document.querySelector('.turn details').open = true")
        page.screenshot(os.path.join(folder, f"chat-{name}.png"))
        click(page, "tab-live")
        page.value("new Promise((resolve) => setTimeout(resolve, 3000))")
        page.screenshot(os.path.join(folder, f"live-{name}.png"))
        print(name, page.complaints)


def test(browser, program):
    with Server(program) as url:
        page = browser.open(url)
        chat(page)
        live(page)
        check(page.complaints == [], page.complaints)
        narrow = browser.open(url + "#live", width=360, height=700, dark=True)
        live(narrow)
        check(narrow.complaints == [], narrow.complaints)
    with Server(program, "--key", "secret") as url:
        keys(browser, url)
    with Server(program, "--completion") as url:
        completion(browser.open(url))
        polling(browser.open(url))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server", nargs="?")
    parser.add_argument("--url")
    parser.add_argument("--shots")
    args = parser.parse_args()
    names = [os.environ.get("FUSEC_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    program = next((found for name in names if name and (found := shutil.which(name))), None)
    if not program:
        print("skipped: no Chromium (set FUSEC_CHROMIUM)")
        sys.exit(77)
    with Chromium(program) as browser:
        if args.url:
            return take_shots(browser, args.url, args.shots)
        test(browser, args.server)
        if args.shots:
            with Server(args.server) as url:
                take_shots(browser, url, args.shots)
    print("the page works")


if __name__ == "__main__":
    main()
