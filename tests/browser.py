"""A headless Chromium, driven through chromedriver with the standard library alone."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def missing():
    """What is not installed, if anything."""
    lacking = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(lacking)} not installed (apt-get install chromium-driver)" * bool(
        lacking
    )


@contextmanager
def chromium():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    browser = None
    try:
        browser = Browser(f"http://127.0.0.1:{port}")
        yield browser
    finally:
        if browser is not None:
            browser.close()
        process.terminate()
        process.wait()


class Browser:
    def __init__(self, url, patience=60):
        self.url = url
        options = {"args": FLAGS, "binary": shutil.which("chromium")}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        end = time.monotonic() + patience
        while True:
            try:
                made = self._post("/session", {"capabilities": {"alwaysMatch": wanted}})
                break
            except (urllib.error.URLError, ConnectionError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        self.url += f"/session/{made['sessionId']}"

    def _post(self, path, value):
        request = urllib.request.Request(
            self.url + path,
            json.dumps(value).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.loads(response.read())["value"]

    def devtools(self, command, **parameters):
        return self._post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url, width, *, dark=False):
        """Open a page on a screen that is ``width`` wide."""
        phone = width < 700
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])
        self._post("/url", {"url": url})

    def run(self, script):
        """The value of a JavaScript function body."""
        return self._post("/execute/sync", {"script": script, "args": []})

    def console(self):
        return self._post("/se/log", {"type": "browser"})

    def screenshot(self, path):
        """The whole page, not only what is in view."""
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        request = urllib.request.Request(self.url, method="DELETE")
        urllib.request.urlopen(request, timeout=60).close()
