"""Does the tutorials as they are printed, and keeps the picture that each of them ends with.

python docs/draw_tutorials.py docs/images            (some minutes; `make gallery` does it)
python docs/draw_tutorials.py docs/images engineer
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mane.pictures import read_picture, write_jpeg

TUTORIALS = Path(__file__).parent / "tutorials"
# tutorial -> the file that it makes
PICTURES = {"artist": "pictures/picture.0008.png", "engineer": "hair.png", "data": "sheet.png"}
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.M | re.S)


def follow(name: str, folder: Path) -> None:
    """Write the files of a tutorial, run its commands in order, and its Python, as one program, where it begins."""
    blocks = BLOCK.findall((TUTORIALS / f"{name}.md").read_text(encoding="utf-8"))
    program = "\n".join(text for language, title, text in blocks if language == "python" and not title)
    for language, title, text in blocks:
        if title:
            (folder / title).write_text(text, encoding="utf-8")
        elif language == "console":
            for line in re.findall(r"^\$ (.+)$", text, re.M):
                subprocess.run(line, shell=True, cwd=folder, env=with_this_python(), check="modle" not in line)
        elif program:
            subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
            program = ""


def with_this_python() -> dict[str, str]:
    """Return the environment with the command `mane` of this interpreter in front."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def main() -> None:
    """Draw all pictures, or those that are named."""
    images, *names = sys.argv[1:]
    for name in names or PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            follow(name, Path(folder))
            write_jpeg(Path(images) / f"tutorial-{name}.jpg", read_picture(Path(folder) / PICTURES[name]))


if __name__ == "__main__":
    main()
