"""The page of a report in a real browser: it loads whole, fits a phone, follows light and dark, and prints."""

import base64
import json
import os
import re
import select
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

from html_page import DECK
from isotherm_tools.__main__ import main
from program import HANGS, finished_run, ran, write_deck

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-sandbox", "--disable-dev-shm-usage",
           "--no-first-run", "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
           "--host-resolver-rules=MAP * ~NOTFOUND"]  # makes network access by a page fail
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")

# With a name too long for a phone.
STUDY = """
study:
  matrix: {solver.kernel: [reference, openmp], problem.dt: [0.001, 0.002, 0.004]}
  list: [{name: a_case_whose_name_is_longer_than_a_telephone_is_wide_and_has_no_spaces}]
  report: [name, solver.kernel, problem.dt, step_s, max_K, state]
"""
SECTIONS, PICTURES = {"run": 7, "study": 5}, {"run": 10, "study": 2}  # minimum numbers of pictures
SIZES = """[...document.images].map(i => [
  i.complete && i.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}),
  i.naturalWidth, i.naturalHeight, i.clientWidth, i.clientHeight])"""
# The background colour of a figure, outside the drawing.
CORNERS = """[...document.images].map(image => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext('2d');
  pen.drawImage(image, 0, 0, 2, 2, 0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
})"""
TOO_WIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') &&
  e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"""


class Browser:
    """Chromium without a window, controlled by the DevTools protocol over a pair of pipes. It has one tab, and all its files in `folder`.
    `events` holds all events received."""

    def __init__(self, folder):
        self._rest = b""
        self._last = 0
        self.events = []
        # Chromium reads from 3 and writes to 4.
        to, back = folder / "to", folder / "back"
        os.mkfifo(to)
        os.mkfifo(back)
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<"{to}" 4>"{back}"', "chromium", CHROMIUM, *OPTIONS,
             f"--user-data-dir={folder / 'profile'}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self._out, self._in = os.open(to, os.O_WRONLY), os.open(back, os.O_RDONLY)
        self._session = None
        page = next(target for target in self.ask("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def end(self):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def ask(self, method, **parameters):
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._last:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def _message(self):
        """The next message; one that is not an answer is also stored as an event."""
        end = time.monotonic() + HANGS
        while b"\0" not in self._rest:
            assert select.select([self._in], [], [], max(0, end - time.monotonic()))[0], "the browser says nothing"
            piece = os.read(self._in, 1 << 16)
            assert piece, "the browser has ended"
            self._rest += piece
        text, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(text)
        if "id" not in message:
            self.events.append(message)
        return message

    def open(self, path, width=1280, height=900, dark=False):
        """Loads the page on a screen of this size (as a phone below 600), in light or dark mode."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.ask("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._message()

    def value(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def complaints(self):
        """Errors and warnings of the console and the log, exceptions, and failed loads."""
        bad = ("error", "warning", "assert")
        return [event for event in self.events
                if event["method"] in ("Runtime.exceptionThrown", "Network.loadingFailed")
                or event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] in bad
                or event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in bad]

    def requested(self):
        """Addresses that the page requested, without data URLs."""
        urls = [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("data:")]


@pytest.fixture(scope="module", params=["run", "study"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def page(kind, tmp_path_factory):
    return {"run": page_of_run, "study": page_of_study}[kind](tmp_path_factory.mktemp(kind))


def page_of_study(folder):
    write_deck(folder, DECK.replace("solver: {kernel: reference, ", "solver: {") + STUDY)
    ran("study", "deck.yaml", "output.directory=study", cwd=folder)
    assert main(["report", str(folder / "study")]) == 0
    return folder / "study" / "study_report.html"


def page_of_run(folder):
    """With a name, a warning and a command line that are too long for a phone."""
    name = "a_deck_whose_name_is_longer_than_a_telephone_is_wide_and_has_no_spaces"
    run = finished_run(folder, DECK, name)
    ran("bench", "stencil", "--device", "cpu", "--kernels", "reference,openmp", "--sizes", "16", "--seconds", "0.01", "--json",
        "bench.json", cwd=folder)
    assert main(["report", str(run), "--bench", str(folder / "bench.json")]) == 0
    return run / f"{name}_report.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.end()


def test_the_page_loads_without_errors_and_requests_no_other_file(browser, page, kind):
    browser.open(page)
    assert browser.complaints() == [] and browser.requested() == [page.resolve().as_uri()]
    assert browser.value("document.compatMode") == "CSS1Compat"
    assert browser.value("document.querySelector('h1').innerText").endswith("DONE")
    links = browser.value("[...document.querySelectorAll('nav a')].map(a => !!document.querySelector(a.getAttribute('href')))")
    assert len(links) == SECTIONS[kind] and all(links)


@pytest.mark.parametrize("width", [1280, 768, 360])
def test_every_figure_is_there_and_nothing_is_too_wide(browser, page, kind, width):
    browser.open(page, width=width, height=800)
    sizes = browser.value(SIZES)
    assert len(sizes) == page.read_text(encoding="utf-8").count("<img ") >= PICTURES[kind]
    for complete, *edges in sizes:
        assert complete and min(edges) > 40, sizes
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(TOO_WIDE) == []


@pytest.mark.parametrize("width", [1280, 360])
def test_figures_follow_light_and_dark(browser, page, width):
    grounds = []
    for dark, paper in (False, (255, 255, 255)), (True, (30, 33, 39)):
        browser.open(page, width=width, height=800, dark=dark)
        grounds.append(luminance(browser.value("getComputedStyle(document.body).backgroundColor")))
        assert browser.value("getComputedStyle(document.querySelector('figure')).backgroundColor") == f"rgb{paper}"
        papers = np.array(browser.value(CORNERS))
        assert len(papers) and np.abs(papers - paper).max() <= 1
        assert contrast(browser, "p") > 4.5 and contrast(browser, "figcaption") > 4.5 and contrast(browser, ".badge") > 4.5
    assert grounds[0] > 0.9 and grounds[1] < 0.2


def contrast(browser, selector):
    """The contrast of a text and its background by WCAG 2."""
    text, ground = browser.value(f"""(() => {{
      let e = document.querySelector('{selector}');
      const colour = getComputedStyle(e).color;
      while (getComputedStyle(e).backgroundColor == 'rgba(0, 0, 0, 0)') e = e.parentElement;
      return [colour, getComputedStyle(e).backgroundColor];
    }})()""")
    bright, dim = sorted(map(luminance, (text, ground)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(colour):
    channels = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear))


def test_the_page_can_be_printed(browser, page):
    browser.open(page, dark=True)
    pdf = base64.b64decode(browser.ask("Page.printToPDF", printBackground=False)["data"])
    assert pdf.startswith(b"%PDF") and pdf.rstrip().endswith(b"%%EOF") and len(pdf) > 50000
    browser.ask("Emulation.setEmulatedMedia", media="print", features=[])
    assert browser.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.value("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
