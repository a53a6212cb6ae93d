"""What MkDocs calls while it builds the site: pages that a command can print, formulas, and links into the source.

Nothing here is written by hand twice: keys of scenes, options of the command, settings of methods, public names and
equations in the code are found where they are defined.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

import mane

ROOT = Path(__file__).parents[1]
PAPERS = ("hsu2024", "chai2017", "chang2002", "guan2012", "lee2018")
# "hsu2024 eq. 17", "chai2017 eq. 5, 6", "chang2002 4.3", "chai2017 algorithm 1", "chang2002 section 5"
CITED = re.compile(
    rf"\b({'|'.join(PAPERS)}),? "
    r"((?:eq\.|section|sections|algorithm|theorem|fig\.|table) [0-9]+(?:\.[0-9]+)*(?:(?:, | and | to )[0-9.]*[0-9])*"
    r"|[0-9](?:\.[0-9])+)"
)
SETTINGS = re.compile(r"^<!-- settings: (\w+)\.(\w+)(?: less (\w+)\.(\w+))? -->$", re.M)
LEARNING = re.compile(r"^<!-- learning: (\w+) -->$", re.M)
KEYS = re.compile(r"^<!-- keys: (\w+) -->$", re.M)
IMAGE = re.compile(r'(<img\b[^>]*?\bsrc="([^"]+)"[^>]*>)')
WIDE = "limits.md"  # a page of tables that need all the room there is


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made, and put the decisions in order."""
    pages = {
        "reference/scene.md": scene_page(),
        "reference/command.md": command_page(),
        "reference/settings.md": settings_page(),
        "methods/equations.md": equations_page(),
        "decisions/index.md": (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8"),
        **api_pages(),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_config(config: Any) -> Any:
    """List the made pages of the API and the decisions in the menu."""
    sections = {next(iter(entry)): next(iter(entry.values())) for entry in config.nav}
    sections["Python"] += [path for path in api_pages() if path != "api/index.md"]
    decisions = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    sections["For developers"] += [f"decisions/{path.name}" for path in decisions]
    return config


def on_page_markdown(text: str, page: Any, config: Any, files: Files) -> str:
    """Put settings, keys of scenes and the salon's messages where a page asks for them.

    `<!-- settings: skins.physical -->`, `<!-- settings: skins.individual less skins.volume -->`, `<!-- keys: air -->`,
    `<!-- learning: adaptive -->`.
    """
    from mane.salon.protocol import described

    if page.file.src_uri == WIDE:
        page.meta["hide"] = ["toc"]
    text = text.replace("<!-- salon protocol -->", described())
    text = KEYS.sub(lambda found: keys_table(found.group(1)), text)
    text = LEARNING.sub(lambda found: learning_table(found.group(1)), text)
    return SETTINGS.sub(lambda found: settings_table(*found.groups()), text)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Turn formulas into MathML, which browsers draw by themselves; pictures are links to themselves."""
    html = IMAGE.sub(r'<a href="\2">\1</a>', html)  # to see it in its own size
    if page.file.src_uri == WIDE:
        html = f'<div class="targets">{html}</div>'
    html = re.sub(r'<span class="arithmatex">\\\((.*?)\\\)</span>', lambda m: formula(m.group(1)), html, flags=re.S)
    block = r'<div class="arithmatex">\\\[(.*?)\\\]</div>'
    return re.sub(block, lambda m: f'<div class="formula">{formula(m.group(1), "block")}</div>', html, flags=re.S)


def formula(text: str, display: str = "inline") -> str:
    """MathML of a formula in TeX."""
    plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()
    made: str = convert(plain, display=display)
    return made


def scene_page() -> str:
    """Every key of a scene file, as `mane new --keys` prints it."""
    from mane.scene.reference import scene_reference

    return scene_reference()


def command_page() -> str:
    """The help of every subcommand, as `mane NAME --help` prints it."""
    from mane.cli import build_parser

    parser = build_parser()
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    lines = ["# The command\n", "Printed by `mane --help` and `mane NAME --help`.\n"]
    lines += [f"## mane\n\n```text\n{_help(parser)}\n```\n"]
    lines += [f"## mane {name}\n\n```text\n{_help(one)}\n```\n" for name, one in commands.choices.items()]
    return "\n".join(lines)


def _help(parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=100)  # type: ignore[assignment]
    return parser.format_help().strip()


def tables() -> dict[str, Any]:
    """Tables of methods by the public module that has them."""
    from mane.forces import INTERACTIONS
    from mane.scenes import SOURCES
    from mane.skins import FINISHING_PASSES, SKINS
    from mane.strands import SOLVERS

    return {
        "strands": SOLVERS,
        "sources": SOURCES,
        "forces": INTERACTIONS,
        "skins": SKINS,
        "passes": FINISHING_PASSES,
    }


def settings_table(kind: str, name: str, less_kind: str | None = None, less_name: str | None = None) -> str:
    """Settings of one method as a table, as its class has them; without those of another one, which has its page."""
    from mane.scene.reference import key_lines

    known = {key.name for key in settings_of(less_kind, less_name)} if less_kind and less_name else set()
    return "\n".join(key_lines([key for key in settings_of(kind, name) if key.name not in known]))


def settings_of(kind: str, name: str) -> Any:
    """Settings of one method."""
    from mane.scene.keys import model_keys, stage_keys

    return (model_keys if kind == "strands" else stage_keys)(tables()[kind][name])


def learning_table(kind: str) -> str:
    """Settings of `mane learn` for one kind of model, as their class has them."""
    from mane.dataset.learn.table import LEARNERS
    from mane.scene.keys import table_keys
    from mane.scene.reference import key_lines

    return "\n".join(key_lines(table_keys(LEARNERS[kind].load("settings"), is_open=False)))


def keys_table(name: str) -> str:
    """Keys of one table of a scene file, and of what it may name, one heading lower than on the page of all keys."""
    from mane.scene.keys import scene_tables
    from mane.scene.reference import table_lines

    (table,) = (one for one in scene_tables() if one.name == name)
    lines = "\n".join(table_lines(table)).split("\n")
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in lines)


def settings_page() -> str:
    """All methods with their settings."""
    from mane.scene.keys import summary_of

    titles = {
        "strands": "Strand models",
        "sources": "Sources of guides",
        "forces": "Forces",
        "skins": "Skins",
        "passes": "Finishing passes",
    }
    lines = ["# Methods and their settings\n", "Found in the tables that scenes, Python and the command share.\n"]
    for kind, table in tables().items():
        lines.append(f"## {titles[kind]}\n")
        for name in table:
            lines.append(
                f"### `{name}` {{ #{kind}-{name} }}\n\n{summary_of(table[name])}\n\n{settings_table(kind, name)}"
            )
    return "\n".join(lines)


def api_pages() -> dict[str, str]:
    """One page per public module, and one for the names of `mane` itself."""
    own = [name for name in mane.PUBLIC if name not in mane.MODULES]
    lines = ["# `mane`\n", "Names of the package itself. What belongs to one subject has a module of its own:\n"]
    lines += [f"- [`mane.{name}`]({name}.md): {_first_line(name)}" for name in sorted(mane.MODULES)]
    pages = {"api/index.md": "\n".join([*lines, "", *map(_entry, own)]) + "\n"}
    for name in sorted(mane.MODULES):
        public = [member for member in getattr(mane, name).__all__ if member != "Union"]
        text = f"# `mane.{name}`\n\n{(getattr(mane, name).__doc__ or '').strip()}\n\n"
        pages[f"api/{name}.md"] = text + "\n".join(_entry(member, name) for member in public) + "\n"
    return pages


def _first_line(name: str) -> str:
    return (getattr(mane, name).__doc__ or "").strip().split("\n")[0]


def _entry(name: str, module: str = "") -> str:
    """A public name: its documentation where it is defined, or what it is, for a table or a number."""
    public = f"mane.{module}.{name}" if module else f"mane.{name}"
    value = getattr(getattr(mane, module), name) if module else getattr(mane, name)
    owner = getattr(value, "__module__", None)
    if owner is None or not owner.startswith("mane") or not hasattr(value, "__qualname__"):
        described = f"one of {', '.join(f'`{key}`' for key in value)}" if hasattr(value, "keys") else f"`{value}`"
        return (
            f"## `{public}`\n\nA table: {described}.\n" if hasattr(value, "keys") else f"## `{public}`\n\n{described}\n"
        )
    return f"::: {owner}.{value.__qualname__}\n    options:\n      heading: {public}\n      toc_label: {public}\n"


def equations_page() -> str:
    """Where each equation, section and algorithm of the papers is in the code, from the citations in it."""
    found: dict[str, dict[str, set[str]]] = {paper: defaultdict(set) for paper in PAPERS}
    for path in sorted((ROOT / "src" / "mane").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not CITED.search(text):
            continue
        spans = [
            (node.lineno, node.end_lineno or node.lineno, node.name)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        for number, line in enumerate(text.split("\n"), 1):
            for paper, place in CITED.findall(line):
                inside = [name for start, end, name in spans if start <= number <= end]
                where = path.relative_to(ROOT / "src").as_posix()
                found[paper][place].add(f"`{where}`" + (f" `{inside[-1]}`" if inside else ""))
    lines = ["# Equations of the papers, in the code\n", "Found in the comments and docstrings of the source.\n"]
    for paper, places in found.items():
        if places:
            lines += [f"## {paper}\n", "| in the paper | in the code |\n|---|---|"]
            lines += [f"| {place} | {', '.join(sorted(places[place]))} |" for place in sorted(places, key=_natural)]
            lines.append("")
    return "\n".join(lines)


def _natural(text: str) -> tuple[str, list[int]]:
    """Equations together, then figures, sections and tables, each by its numbers."""
    return text.rstrip("0123456789 .,andto"), [int(number) for number in re.findall(r"\d+", text)]
