"""A stock Firefox driven by WebDriver BiDi over its own socket: no driver beside it, and no patched build.

Without a window it has no WebGL, so it gets a display of its own: Xvfb, where Mesa draws in software.
"""

import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from websockets.sync.client import connect

NAMES = ("firefox-esr", "firefox")
ADDRESS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
PREFS = {
    "webgl.force-enabled": True,  # in software, on a machine without a display
    "webgl.disabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}


def find_firefox():
    """Path of a Firefox that can be shown, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None) if shutil.which("Xvfb") else None


class Firefox:
    """A browser without a window; `folder` is for its profile."""

    def __init__(self, path, folder: Path, *, width=760, height=420, patience=240.0):
        self.patience, self.errors, self.requests = patience, [], []
        self._numbers = itertools.count(1)
        profile = folder / "profile"
        profile.mkdir()
        lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in PREFS.items()]
        (profile / "user.js").write_text("".join(lines))
        log = folder / "firefox.log"
        command = [path, "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
        command += ["--width", str(width), "--height", str(height)]
        with contextlib.ExitStack() as stack:
            number = self._display(stack, folder)
            environment = {**os.environ, "DISPLAY": f":{number}", "LIBGL_ALWAYS_SOFTWARE": "1"}
            self._start(stack, command, log, environment)
            self._begin(stack, log, {"width": width, "height": height})
            self._stack = stack.pop_all()

    def _display(self, stack, folder):
        """Number of a display of its own."""
        told = folder / "display"
        self._start(stack, [shutil.which("Xvfb"), "-displayfd", "1", "-screen", "0", "1280x800x24"], told, None)
        return self._until(lambda: re.match(r"\d+\n", told.read_text(errors="replace")), "got a display")[0].strip()

    def _start(self, stack, command, log, environment):
        with log.open("wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)
        stack.callback(_end, process)

    def _begin(self, stack, log, viewport):
        found = self._until(lambda: ADDRESS.search(log.read_text(errors="replace")), "begun to listen")
        socket = connect(f"{found[1]}/session", max_size=None, open_timeout=60)
        self.socket = stack.enter_context(socket)
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.context = self.send("browsingContext.getTree")["contexts"][0]["context"]
        self.send("browsingContext.setViewport", context=self.context, viewport=viewport)

    def _until(self, ask, what):
        deadline = time.monotonic() + self.patience
        while time.monotonic() < deadline:
            found = ask()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"Firefox has not {what} within {self.patience:g} s; it says {self.errors}")

    def send(self, method, **params):
        """Send a command and return its result; events that come meanwhile are kept."""
        number = next(self._numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=self.patience))
            if message.get("type") == "event":
                self._keep(message)
            elif message["id"] == number:
                if message["type"] == "error":
                    raise AssertionError(f"{method}: {message['message']}")
                return message["result"]

    def _keep(self, event):
        params = event["params"]
        if event["method"] == "log.entryAdded" and params["level"] in ("error", "warn"):
            self.errors.append(params["text"])
        elif event["method"] == "network.beforeRequestSent":
            self.requests.append(params["request"]["url"])

    def open(self, address):
        self.send("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def get(self, code):
        """Value of an expression on the page."""
        target = {"context": self.context}
        answer = self.send("script.evaluate", expression=f"JSON.stringify({code})", target=target, awaitPromise=True)
        assert answer["type"] == "success", answer
        value = answer["result"].get("value")
        return None if value is None else json.loads(value)

    def wait(self, code, what):
        return self._until(lambda: self.get(code), f"shown that it is {what}")

    def drag(self, start, end, steps=8, button=0):
        """Press at a place [pixels], move to another, and keep the button down."""
        xs, ys = ([a + (b - a) * k / steps for k in range(steps + 1)] for a, b in zip(start, end, strict=True))
        places = [
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 30} for x, y in zip(xs, ys, strict=True)
        ]
        actions = [places[0], {"type": "pointerDown", "button": button}, *places[1:]]
        self._act(actions)

    def release(self, button=0):
        self._act([{"type": "pointerUp", "button": button}])

    def _act(self, actions):
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self.send("input.performActions", context=self.context, actions=[mouse])

    def screenshot(self):
        """The page as a PNG, base64."""
        return self.send("browsingContext.captureScreenshot", context=self.context)["data"]

    def close(self):
        with self._stack:
            self.send("browser.close")


def _end(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
