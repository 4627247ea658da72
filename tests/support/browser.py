"""A real browser without a window: Chromium, controlled by the DevTools protocol over a pair of pipes."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-sandbox", "--disable-dev-shm-usage",
           "--no-first-run", "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
           "--host-resolver-rules=MAP * ~NOTFOUND"]  # makes network access by a page fail
PATIENCE = 900  # s; for a busy machine


class Browser:
    """`with Browser(folder) as browser`: one tab, all its files in `folder`. `events` holds all events received."""

    def __init__(self, folder):
        self._folder = folder
        self._rest = b""
        self._last = 0
        self.events = []

    def __enter__(self):
        # Chromium reads from 3 and writes to 4.
        to, back = self._folder / "to", self._folder / "back"
        os.mkfifo(to)
        os.mkfifo(back)
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<"{to}" 4>"{back}"', "chromium", CHROMIUM, *OPTIONS,
             f"--user-data-dir={self._folder / 'profile'}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self._out, self._in = os.open(to, os.O_WRONLY), os.open(back, os.O_RDONLY)
        self._session = None
        page = next(target for target in self.ask("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_):
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
        end = time.monotonic() + PATIENCE
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

    def pdf(self):
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])

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
