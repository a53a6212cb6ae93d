"""The site is built without a warning, and what it shows comes from nowhere but its own folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.stress
def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="`make docs` installs what builds the site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert made.returncode == 0, made.stderr
    assert "WARNING" not in made.stderr
    scene = (tmp_path / "reference" / "scene.html").read_text(encoding="utf-8")
    assert 'id="strand"' in scene
    assert "<code>stiffen_to_stand</code>" in scene
    assert "<math" in (tmp_path / "methods" / "cosserat.html").read_text(encoding="utf-8")
    assert "eq. 17" in (tmp_path / "methods" / "equations.html").read_text(encoding="utf-8")
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|link)\b[^>]*?(?:src|href)="(https?:[^"]+)"', page.read_text(encoding="utf-8")
        )
        assert not loaded, f"{page.name} loads {loaded[0]}"
