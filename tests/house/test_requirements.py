"""`make demo` installs less than `make test`, and nothing else: each package in the version of the lock file."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def pins(name):
    """Packages of a file of locked requirements: version and marker, with all hashes."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    entries = re.findall(r"^([a-z0-9-]+)==([^\\\n]+?) *\\?\n((?: +--hash=\S+(?: \\)?\n)*)", text, re.M)
    return {(package, version): set(re.findall(r"sha256:\w+", hashes)) for package, version, hashes in entries}


def test_what_the_demo_runs_with_is_part_of_the_lock_file():
    demo, everything = pins("run.txt"), pins("lock.txt")
    assert 15 < len(demo) < len(everything) / 2
    for package, hashes in demo.items():
        assert hashes
        assert everything.get(package) == hashes, f"run `make lock`: {package} differs"


def test_the_demo_has_every_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = project["project"]["dependencies"] + project["dependency-groups"]["demo"]
    assert {re.match(r"[\w-]+", one)[0] for one in named} <= {package for package, _ in pins("run.txt")}
    assert set(project["dependency-groups"]["demo"]) <= set(project["dependency-groups"]["dev"])
