"""The page keeps to what Safari 15.4 has: there is none to try it in here, so its source and its build are read."""

import json
import re
from pathlib import Path

import pytest

from mane.salon import server

PAGE = Path(__file__).parents[3] / "page"
BUILT = Path(__file__).parents[3] / "src" / "mane" / "salon" / "page" / "salon.js"
pytestmark = pytest.mark.skipif(not PAGE.is_dir(), reason="the page's source is in a checkout alone")
# Newer than Safari 15.4, by the tables of caniuse.com and MDN; what WebGPU alone needs is asked for before it is used.
NEWER = {
    "OffscreenCanvas": "16.4", ".toSorted(": "16", ".toReversed(": "16", ".toSpliced(": "16", ".groupBy(": "17.4",
    ".withResolvers(": "17.4", ".fromAsync(": "16.4", ".isSubsetOf(": "17", ".transferToFixedLength(": "17.4",
    ".isWellFormed(": "16.4", "requestIdleCallback": "none", "scheduler.": "none", "showSaveFilePicker": "none",
    "navigator.storage.getDirectory": "15.2 in part", "createImageBitmap(": "15 in part", "popover": "17",
    ".checkVisibility(": "17.4", "ViewTransition": "18",
}  # fmt: skip
NEWER_CSS = {
    "@container": "16",
    ":has(": "15.4",
    "color-mix(": "16.2",
    "dvh": "15.4",
    "@layer": "15.4",
    "subgrid": "16",
}
EXTENSIONS = {  # of WebGL2 in Safari 15.4
    "EXT_color_buffer_float", "EXT_color_buffer_half_float", "OES_texture_float_linear",
    "OES_texture_half_float_linear", "WEBGL_debug_renderer_info", "WEBGL_lose_context",
    "EXT_texture_filter_anisotropic",
}  # fmt: skip


def sources():
    return [path for path in sorted((PAGE / "src").rglob("*.ts")) if "webgpu" not in path.parts]


def test_the_bundle_is_made_for_safari_15_4():
    """Class static blocks of ES2022, for one, came with Safari 16.4: the bundler must write them in another way."""
    assert '"safari15.4"' in (PAGE / "build.mjs").read_text(encoding="utf-8")
    options = json.loads((PAGE / "tsconfig.json").read_text(encoding="utf-8"))["compilerOptions"]
    assert options["lib"][0] == "ES2022"  # later methods of arrays and strings are errors of the type check
    if BUILT.is_file():
        assert "static{" not in BUILT.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sources() if PAGE.is_dir() else [], ids=lambda path: path.name)
def test_no_source_asks_for_more_than_safari_has(path):
    text = path.read_text(encoding="utf-8")
    for name, since in NEWER.items():
        assert name not in text, f"{name} came with Safari {since}"
    assert not re.search(r"/[a-z]*v[a-z]*\.(test|exec)\(|\(\?<[=!]", text), "lookbehind came with Safari 16.4"
    asked = set(re.findall(r'getExtension\("(\w+)"', text))
    assert asked <= EXTENSIONS


def test_styles_keep_to_it_too():
    text = (PAGE / "src" / "salon.css").read_text(encoding="utf-8")
    for name, since in NEWER_CSS.items():
        assert name not in text, f"{name} came with Safari {since}"


def test_floats_are_drawn_to_without_blending():
    """Blending of 32 bit floats needs EXT_float_blend, which phones lack: maps that are blended have 16 bits."""
    shadow = (PAGE / "src" / "shadow.ts").read_text(encoding="utf-8")
    assert "HalfFloatType" in shadow
    assert "FloatType," not in shadow.replace("HalfFloatType,", "")
    assert "NoBlending" in (PAGE / "src" / "texels.ts").read_text(encoding="utf-8")


def test_every_code_that_the_server_closes_with_is_explained():
    """1009 is said by the library, of a message that is too large."""
    codes = {server.BAD_MESSAGE, server.FORBIDDEN, server.FULL, server.TOO_FAST, server.GONE, 1009}
    text = (PAGE / "src" / "connection.ts").read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"^ +(\d{4}): ", text, re.MULTILINE)} == codes
