"""The pages of the site that nobody writes: path → Markdown, from README and its like, the commands, the catalogue of
findings, docstrings and notebooks. Needs no MkDocs."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import nbformat
import yaml

from parts.reference import about_command
from srfix.cli.command_table import every_command
from srfix.cli.documents import DOCUMENTS, schema_text
from srfix.recovery.checks.interface import CatalogueEntry
from srfix.recovery.explain.catalogue import CATALOGUE

ROOT: Final = Path(__file__).resolve().parents[2]
NOTEBOOKS: Final = ROOT / "fixtures" / "notebooks"
ACTION: Final = ROOT / ".github" / "actions" / "srfix" / "action.yml"

_AS_THEY_ARE: Final = ("DESIGN.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
COPIED: Final = {"index.md": "README.md", **{name: name for name in _AS_THEY_ARE}}
"""Page → the file whose text it has. Links between them hold here as they do there."""

MENU: Final = {
    "srfix": "index.md",
    "Install": "install.md",
    "GitHub Action": "github-action.md",
    "Commands": "commands/",
    "Findings": "findings/",
    "JSON": "documents/",
    "Python": "api/",
    "format(&quot;srfix&quot;)": "spark-source.md",
    "confluent-kafka's drop-in": "drop-in.md",
    "Notebooks": "notebooks/",
    "Design": "DESIGN.md",
    "Contributing": "CONTRIBUTING.md",
    "Security": "SECURITY.md",
    "Changes": "CHANGELOG.md",
}
"""Entry of the menu → its page, or the folder of its pages."""

API: Final = (
    "srfix.serde",
    "srfix.serde.schemas.models",
    "srfix.serde.schemas.errors",
    "srfix.serde.confluent",
    "srfix.serde.arrow",
    "srfix.serde.spark",
    "srfix.recovery",
)
"""Front doors, and modules whose names are promised like theirs: their docstrings are shown."""

DOCSTRINGS: Final = {
    "spark-source.md": ("srfix.serde.spark.source", 'Options of `format("srfix")`'),
    "drop-in.md": ("srfix.serde.confluent", "The drop-in for confluent-kafka"),
}
"""Page → the module whose docstring, and those of the files below it that hold a table, it consists of; its title."""


RUNS_ALONE: Final = {"incident", "serde"}
"""The notebooks that need nothing but Python, so that the site can show what comes of them."""


def made_pages(*, runs_notebooks: bool = False) -> Mapping[str, str]:
    """All of them, in the order of the menu.

    :param runs_notebooks: True to run those that can be, and show what their cells give.
    """
    pages = {page: _for_the_site((ROOT / name).read_text(encoding="utf-8")) for page, name in COPIED.items()}
    pages["github-action.md"] = _action_page(yaml.safe_load(ACTION.read_text(encoding="utf-8")))
    pages |= dict(_command_pages())
    pages |= dict(_finding_pages())
    pages |= dict(_document_pages())
    pages |= {f"api/{front}.md": _api_page(front) for front in API}
    pages |= {page: _docstring_page(front, title) for page, (front, title) in DOCSTRINGS.items()}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        pages[f"notebooks/{path.stem}.md"] = _notebook_page(path, runs=runs_notebooks and path.stem in RUNS_ALONE)
    return pages


def _action_page(action: Mapping[str, Mapping[str, Mapping[str, str]]]) -> str:
    inputs = [
        f"| {_code(name)} | {_cell(told['description'])} | {_code(told['default']) if told['default'] else ''} |"
        for name, told in action["inputs"].items()
    ]
    outputs = [f"| {_code(name)} | {_cell(told['description'])} |" for name, told in action["outputs"].items()]
    return _lines(
        "# GitHub Action",
        f"{action['description']} [How it is used](install.md#github-action).",
        *("## Inputs", _table(("input", "what", "default"), inputs)),
        *("## Outputs", _table(("output", "what"), outputs)),
    )


def _command_pages() -> Iterator[tuple[str, str]]:
    commands = {name: (name.replace(" ", "-"), entry) for name, entry in every_command().items()}
    listed = [f"| [srfix {name}]({page}.md) | {_cell(entry.summary)} |" for name, (page, entry) in commands.items()]
    about = (
        "What `srfix COMMAND --help` says of each. [What the exit codes mean](../index.md#options-that-you-will-need)."
    )
    yield "commands/index.md", _lines("# Commands", about, _table(("command", "what"), listed))
    for name, (page, _) in commands.items():
        yield f"commands/{page}.md", _lines(f"# srfix {name}", about_command(name))


def _finding_pages() -> Iterator[tuple[str, str]]:
    rows = [
        f"| [{known.code}]({known.code}.md) | {known.severity} | {known.checked_since or 'not yet'} | {_cell(known.title)} |"
        for known in CATALOGUE
    ]
    table = _table(("code", "severity", "checked since", "what"), rows)
    yield "findings/index.md", _lines("# Findings", "What `srfix explain` says of each code. Codes are stable.", table)
    for known in CATALOGUE:
        yield f"findings/{known.code}.md", _finding_page(known)


def _finding_page(known: CatalogueEntry) -> str:
    since = f"since srfix {known.checked_since}" if known.checked_since else "not yet: srfix does not look for it"
    return _lines(
        f"# {known.code}: {_escaped(known.title)}",
        f"Severity: **{known.severity}**. Checked {since}. The same in a terminal: `srfix explain {known.code}`.",
        *("## What it means", _escaped(known.meaning)),
        *("## How it comes about", _escaped(known.cause)),
        *("## How srfix tells", _escaped(known.detection)),
        *("## What to do", _escaped(known.remedy)),
    )


def _document_pages() -> Iterator[tuple[str, str]]:
    """The JSON Schema of each document that srfix writes."""
    rows = []
    for document in sorted(DOCUMENTS, key=lambda each: each.name):
        name, text = document.name, schema_text(document)
        about = _escaped(json.loads(text)["description"])
        rows.append(f"| [{name}]({name}.md) | {about.replace('|', '&#124;')} |")
        yield f"documents/{name}.md", _lines(f"# {name}", about, "Its JSON Schema:", f"```json\n{text.rstrip()}\n```")
    about = "The JSON Schemas of what srfix writes, as `srfix schema-of` prints them. Keys may be added, never renamed."
    yield "documents/index.md", _lines("# JSON documents", about, _table(("document", "what"), rows))


def _api_page(front: str) -> str:
    """What a front door shows, name by name, from where each is written."""
    about = inspect.getdoc(importlib.import_module(front)) or ""
    return _lines(f"# {front}", about, *[_shown(place, name) for place, name in shown_names(front)])


def _shown(place: str, name: str) -> str:
    options = "\n    options: {inherited_members: true}" if name in ("ReadPlan", "WritePlan") else ""
    return f"::: {place}.{name}{options}"


def shown_names(front: str) -> Sequence[tuple[str, str]]:
    """(module, name) of all that a front door imports to show it, by its text, for it loads a name when it is asked for; of
    a module, of the classes that no door shows.
    """
    path = importlib.import_module(front).__file__
    assert path is not None
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    if not path.endswith("__init__.py"):
        by_doors = {place for door in API if ".schemas." not in door for place in shown_names(door)}
        classes = [(front, node.name) for node in tree.body if isinstance(node, ast.ClassDef)]
        return [place for place in classes if place not in by_doors]
    return sorted(
        {
            (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("srfix.")
            for alias in node.names
            if not alias.name.startswith("_")
        },
        key=lambda shown: shown[1],
    )


def _docstring_page(front: str, title: str) -> str:
    texts = [inspect.getdoc(importlib.import_module(front)) or ""]
    for place in dict.fromkeys(place for place, _ in shown_names(front)):
        about = inspect.getdoc(importlib.import_module(place)) or ""
        if "\n|" in about:
            texts += [f"## {place}", about]
    return _lines(f"# {title}", *map(_with_fenced_sessions, texts))


def _with_fenced_sessions(text: str) -> str:
    """Doctest's lines as code."""
    blocks = text.split("\n\n")
    return "\n\n".join(f"```pycon\n{block}\n```" if block.startswith(">>> ") else block for block in blocks)


def _notebook_page(path: Path, *, runs: bool) -> str:
    """A notebook's cells as Markdown and code, with what they give if it is run."""
    notebook = nbformat.read(path, as_version=4)
    if runs:
        from nbclient import NotebookClient  # the tests read what is written here, and do without Jupyter

        with tempfile.TemporaryDirectory() as folder:
            NotebookClient(notebook, timeout=120, resources={"metadata": {"path": folder}}).execute()
    blocks = [block for cell in notebook.cells for block in _cell_blocks(cell)]
    return _lines(blocks[0], f"The notebook: `{path.relative_to(ROOT)}`.", *blocks[1:])


def _cell_blocks(cell: nbformat.NotebookNode) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield f"```python\n{cell.source}\n```"
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/png" in data:
            yield f"![What the cell draws](data:image/png;base64,{data['image/png'].strip()})"
        elif text := output.get("text") or data.get("text/plain"):
            yield f"```text\n{text.rstrip()}\n```"


def _lines(*blocks: str) -> str:
    return "\n\n".join(block for block in blocks if block) + "\n"


def _table(columns: Sequence[str], rows: Sequence[str]) -> str:
    return "\n".join([f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *rows]) if rows else ""


def _code(text: str) -> str:
    return f"`{text}`"


def _for_the_site(text: str) -> str:
    """GitHub's Markdown as Python-Markdown takes it: a bar in a table's code has no backslash (it would be shown), and a
    fence names a language alone (one of two words is no fence, and swallows what follows)."""
    text = re.sub(r"^(`{3,}\w+) .*$", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]+`", lambda code: code[0].replace("\\|", "|"), text)


def _cell(text: str) -> str:
    return _escaped(text).replace("|", "\\|").replace("\n", " ")


def _escaped(text: str) -> str:
    """What Markdown would take for its own."""
    for special in "<*_[":
        text = text.replace(special, f"\\{special}")
    return text
