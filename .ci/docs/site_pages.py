"""Makes pages of the site, path → Markdown, from the commands, the catalogue of findings, JSON Schemas, docstrings and
notebooks. Also links words to pages. It does not need MkDocs."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import nbformat
import yaml
from site_tables import API, COPIED, DOCSTRINGS, FINDINGS, GROUPS, NOTEBOOK_TITLES, RUNS_ALONE

from parts.reference import about_command, escaped
from srfix.cli.command_table import EXAMPLES, every_command
from srfix.cli.documents import DOCUMENTS, schema_text
from srfix.recovery.checks.interface import Check
from srfix.recovery.checks.table import CHECKS
from srfix.recovery.explain.catalogue import CATALOGUE

ROOT: Final = Path(__file__).resolve().parents[2]
NOTEBOOKS: Final = ROOT / "fixtures" / "notebooks"
ACTION: Final = ROOT / ".github" / "actions" / "srfix" / "action.yml"

REPOSITORY: Final = "https://github.com/srfix/srfix/blob/main/"


def made_pages(*, runs_notebooks: bool = False) -> Mapping[str, str]:
    """All pages that are made, in the order of the menu.

    :param runs_notebooks: True to run the notebooks of `RUNS_ALONE` and show the output of their cells.
    """
    pages = {name: (ROOT / name).read_text(encoding="utf-8") for name in COPIED}
    pages["github-action.md"] = _action_page(yaml.safe_load(ACTION.read_text(encoding="utf-8")))
    pages |= dict(_command_pages())
    pages |= dict(_finding_pages())
    pages["documents.md"] = _documents_page()
    pages |= {f"api/{front}.md": _api_page(front) for front in API}
    pages |= {page: _docstring_page(front, title) for page, (front, title) in DOCSTRINGS.items()}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        pages[f"notebooks/{path.stem}.md"] = _notebook_page(path, runs=runs_notebooks and path.stem in RUNS_ALONE)
    return pages


def downloads() -> Mapping[str, str]:
    """Files of the site that are not pages: path → text."""
    notebooks = {f"notebooks/{path.name}": path.read_text(encoding="utf-8") for path in NOTEBOOKS.glob("*.ipynb")}
    return notebooks | {f"documents/{each.name}.schema.json": schema_text(each) for each in DOCUMENTS}


def menu_titles(folder: str) -> Mapping[str, str]:
    """The pages in a folder that are made: page → its title in the menu."""
    match folder:
        case "findings/":
            return {"findings/index.md": "All findings"} | {
                f"findings/{code}.md": f"{code} {title}" for code, (title, _) in FINDINGS.items()
            }
        case "commands/":
            return {"commands/index.md": "All commands"} | {
                _command_page(name): f"srfix {name}" for name in every_command()
            }
        case "api/":
            return {f"api/{front}.md": front for front in API}
        case _:
            return {f"notebooks/{name}.md": title for name, title in NOTEBOOK_TITLES.items()}


def for_the_site(text: str) -> str:
    """Changes GitHub's Markdown for Python-Markdown. A bar in code loses its backslash, which would be shown. A code fence
    keeps only the language, because Python-Markdown does not see a fence with two words, and loses the text after it. Links to
    README lead to the repository, because README is not a page of the site."""
    text = re.sub(r"^(`{3,}\w+) .*$", r"\1", text, flags=re.MULTILINE)
    text = text.replace("](README.md", f"]({REPOSITORY}README.md").replace("](.ci/docs/pages/", "](")
    return re.sub(r"`[^`\n]+`", lambda code: code[0].replace("\\|", "|"), text)


_KEPT: Final = r"^(?P<fence>`{3,}).*?^(?P=fence)|^#+ .*?$|^:::.*?$|!?\[(?:[^\[\]]|\[[^\]]*\])*\]\([^)]*\)|<[^>\n]*>"
_COMMANDS: Final = "|".join(sorted(every_command(), key=len, reverse=True))
_LINKED: Final = re.compile(
    rf"{_KEPT}|`(?P<code>[^`\n]+)`|\b(?P<word>SRF\d{{3}}|srfix (?:{_COMMANDS}))\b(?!-)", re.DOTALL | re.MULTILINE
)


def linked(page: str, text: str) -> str:
    """A page's text, with links from finding codes and commands to their pages. Headings, code blocks and links stay as they
    are."""
    up = "../" * page.count("/")

    def link(found: re.Match[str]) -> str:
        words = found["code"] or found["word"]
        target = None if words is None else _page_of(words)
        return found[0] if target is None or target == page else f"[{found[0]}]({up}{target})"

    return _LINKED.sub(link, text)


def _page_of(words: str) -> str | None:
    """The page of a finding code or a command; None for other words."""
    if words in FINDINGS:
        return f"findings/{words}.md"
    first, *rest = words.split()
    if first != "srfix":
        return None
    names = [" ".join(rest[:2]), *rest[:1]]
    return next((_command_page(name) for name in names if name in every_command()), None)


def _action_page(action: Mapping[str, Mapping[str, Mapping[str, str]]]) -> str:
    inputs = [
        f"| {_code(name)} | {_cell(about['description'])} | {_code(about['default']) if about['default'] else ''} |"
        for name, about in action["inputs"].items()
    ]
    outputs = [f"| {_code(name)} | {_cell(about['description'])} |" for name, about in action["outputs"].items()]
    return _lines(
        "# GitHub Action",
        f"{action['description']} [How it is used](prevent/ci.md#the-github-action).",
        *("## Inputs", _table(("input", "what", "default"), inputs)),
        *("## Outputs", _table(("output", "what"), outputs)),
    )


def _command_page(name: str) -> str:
    return f"commands/{name.replace(' ', '-')}.md"


def _command_pages() -> Iterator[tuple[str, str]]:
    commands = every_command()
    listed = [f"| `srfix {name}` | {_cell(entry.summary)} |" for name, entry in commands.items()]
    about = (
        "Each page has the text of `--help`. [What the exit codes mean](../reference/exit-codes.md)."
        " [Where options may stand](../reference/configuration.md)."
    )
    yield "commands/index.md", _lines("# Commands", about, _table(("command", "what"), listed))
    for name, entry in commands.items():
        inner = [f"| `srfix {name} {each}` | {_cell(of.summary)} |" for each, of in entry.commands.items()]
        example = _code_block(EXAMPLES[f"{name} {next(iter(entry.commands))}"]) if inner else ""
        verb, codes = _codes_by_command().get(name, ("", ()))
        findings = f"It {verb} {', '.join(codes)}." if codes else ""
        table = _table(("command", "what"), inner)
        yield _command_page(name), _lines(f"# srfix {name}", example, about_command(name), table, findings)


_OF_A_NEW_SCHEMA: Final = ("SRF012", "SRF020")
"""The findings that `srfix guard` predicts for a schema, not for a store."""


def _codes_by_command() -> Mapping[str, tuple[str, Sequence[str]]]:
    """Command → a verb for what it does with findings, and their codes."""
    (nothing,) = (field.default for field in fields(Check) if field.name == "find")
    known = sorted(CHECKS, key=lambda check: check.code)
    return {
        "diagnose": (
            "finds",
            [c.code for c in known if c.find is not nothing or c.find_of_application or c.find_of_changelog],
        ),
        "check": ("finds", [check.code for check in known if check.find_of_topic]),
        "guard": ("predicts", [c.code for c in known if c.foretell or c.code in _OF_A_NEW_SCHEMA]),
        "plan": ("repairs", [check.code for check in known if check.repair]),
    }


def _code_block(text: str) -> str:
    return f"```sh\n{text}\n```"


def _finding_pages() -> Iterator[tuple[str, str]]:
    rows = [f"| {known.code} | {FINDINGS[known.code][0]} | {known.severity} |" for known in CATALOGUE]
    needs = [f"| {code} | {needed} |" for code, (_, needed) in FINDINGS.items() if needed]
    about = (
        "KAFKA-10179 is one of a family of problems, and each of them has its own code. srfix tells similar problems apart by"
        " evidence, not by names. Codes are stable. `srfix explain CODE` says the same as the pages."
    )
    more = "For all other findings, the cluster and the registry are enough."
    yield (
        "findings/index.md",
        _lines(
            *("# Findings", about, _table(("code", "finding", "severity"), rows)),
            *("## What srfix needs to see them", more, _table(("code", "also needed"), needs)),
        ),
    )
    for known in CATALOGUE:
        yield f"findings/{known.code}.md", _finding_page(known)


def _paragraphs(text: str) -> str:
    """A text of the catalogue as Markdown. Each of its lines is a paragraph or an item of a list."""
    return escaped(text).replace("\n", "\n\n")


def _finding_page(known: Check) -> str:
    commands = [
        f"`srfix {name}` {verb} it" for name, (verb, codes) in _codes_by_command().items() if known.code in codes
    ]
    return _lines(
        f"# {known.code}: {escaped(known.title)}",
        f"Severity: **{known.severity}**. Checked since srfix {known.checked_since}. The same in a terminal:"
        f" `srfix explain {known.code}`.",
        f"{', '.join(commands)}.",
        *("## What it means", _paragraphs(known.meaning)),
        *("## How it comes about", _paragraphs(known.cause)),
        *("## How srfix recognises it", _paragraphs(known.detection)),
        *("## What to do", _paragraphs(known.remedy)),
    )


def _documents_page() -> str:
    """The JSON documents that srfix writes, with tables of their keys."""
    rows, parts = [], []
    for document in DOCUMENTS:
        schema = json.loads(schema_text(document))
        about = _cell(str(schema["description"]))
        writers = _cell(document.written_by)
        rows.append(f"| [{document.name}](#{document.name}) | {writers} |")
        whole = f"[Its JSON Schema](documents/{document.name}.schema.json); in a terminal: `srfix schema-of {document.name}`."
        parts += [f"## {document.name}", about, whole, *_tables_of(schema)]
        for name, definition in schema.get("$defs", {}).items():
            what = f"**{name}**: {_type_of(definition)}" if "enum" in definition else f"**{name}**"
            parts += [what, escaped(definition.get("description", "")), *_tables_of(definition)]
    about = (
        "`--output json` and the files of srfix hold these documents. Within a version, keys may be added, but never renamed."
        " `[]` after a key stands for the items of a list."
    )
    return _lines("# JSON documents", about, _table(("document", "written by"), rows), *parts)


def _tables_of(schema: Mapping[str, Any]) -> Iterator[str]:
    """A table of the object's keys; if the object has several forms, a sentence that names them."""
    if rows := list(_keys_of(schema, "")):
        yield _table(("key", "type", "what"), rows)
    if "anyOf" in schema:
        yield f"It is one of these: {_type_of(schema)}."


def _keys_of(schema: Mapping[str, Any], before: str) -> Iterator[str]:
    for key, value in schema.get("properties", {}).items():
        optional = "" if key in schema.get("required", ()) else ", optional"
        yield f"| `{before}{key}` | {_type_of(value)}{optional} | {_cell(str(value.get('description', '')))} |"
        inner, dots = value, "."
        while isinstance(inner.get("items"), dict):
            inner, dots = inner["items"], f"[]{dots}"
        yield from _keys_of(inner, f"{before}{key}{dots}")


def _type_of(value: Mapping[str, Any]) -> str:
    """A key's type in a word or two."""
    match value:
        case {"const": fixed}:
            return _code(json.dumps(fixed))
        case {"enum": words}:
            return ", ".join(_code(json.dumps(word)) for word in words)
        case {"$ref": str(place)}:
            return place.rpartition("/")[2].replace("_", "\\_")
        case {"items": Mapping() as items}:
            return f"list of {_type_of(items)}"
        case {"type": str(name)}:
            return name
        case {"type": list(names)}:
            return " or ".join(names)
        case {"anyOf": forms} | {"oneOf": forms}:
            return " or ".join(dict.fromkeys(map(_type_of, forms)))
        case _:
            return "any"


def _api_page(front: str) -> str:
    """The page of a public package: each name with the docstring from its own module; with headings if there are several
    groups."""
    about = inspect.getdoc(importlib.import_module(front)) or ""
    groups: dict[str, list[str]] = {title: [] for title in GROUPS}
    for place, name in shown_names(front):
        groups[_group_of(place)].append(f"{place}.{name}")
    filled = {title: names for title, names in groups.items() if names}
    blocks = [
        block
        for title, names in filled.items()
        for block in ([f"## {title}"] if len(filled) > 1 else [], [_shown(name, len(filled) > 1) for name in names])
    ]
    return _lines(f"# {front}", about, *(line for block in blocks for line in block))


def _group_of(place: str) -> str:
    name = place.removeprefix("srfix.")
    near = [
        (len(start), title)
        for title, starts in GROUPS.items()
        for start in starts
        if f"{name}.".startswith(f"{start}.")
    ]
    return max(near)[1]


def _shown(name: str, is_in_a_group: bool) -> str:
    options = {"heading_level": 3} if is_in_a_group else {}
    if name.endswith((".ReadPlan", ".WritePlan")):
        options |= {"inherited_members": True}
    return f"::: {name}" + (f"\n    options: {json.dumps(options)}" if options else "")


def shown_names(front: str) -> Sequence[tuple[str, str]]:
    """The public names, as (module, name). For a package, these are its imports in the source text, because the package loads
    a name only when it is used. For a module, these are the classes that no package shows.
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
            (node.module, name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("srfix.")
            for alias in node.names
            for name in (_classes_of(node.module) if alias.name == "*" else [alias.name])
            if not name.startswith("_")
        },
        key=lambda shown: shown[1],
    )


def _classes_of(module: str) -> list[str]:
    return [
        name
        for name, kind in vars(importlib.import_module(module)).items()
        if getattr(kind, "__module__", "") == module
    ]


def _docstring_page(front: str, title: str) -> str:
    texts = [inspect.getdoc(importlib.import_module(front)) or ""]
    for place in dict.fromkeys(place for place, _ in shown_names(front)):
        about = inspect.getdoc(importlib.import_module(place)) or ""
        if "\n|" in about:
            texts += [f"## {place}", about]
    return _lines(f"# {title}", *map(_with_fenced_sessions, texts))


def _with_fenced_sessions(text: str) -> str:
    """Puts the sessions of doctests into code blocks."""
    blocks = text.split("\n\n")
    return "\n\n".join(f"```pycon\n{block}\n```" if block.startswith(">>> ") else block for block in blocks)


def _notebook_page(path: Path, *, runs: bool) -> str:
    """A notebook's cells as Markdown and code, with their output: of a run now, or as stored in the notebook."""
    notebook = nbformat.read(path, as_version=4)
    if runs:
        from nbclient import NotebookClient  # the tests use this module without Jupyter

        with tempfile.TemporaryDirectory() as folder:
            NotebookClient(notebook, timeout=120, resources={"metadata": {"path": folder}}).execute()
    blocks = [block for cell in notebook.cells for block in _cell_blocks(cell)]
    about = f"[Download the notebook]({path.name}). In the repository it is `{path.relative_to(ROOT)}`."
    return _lines(blocks[0], about, *blocks[1:])


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


def _cell(text: str) -> str:
    return escaped(text).replace("|", "&#124;").replace("\n", " ")
