"""Writes a report as one self-contained page of HTML. Foreign values are made printable (`finalize`), then escaped by
Jinja; if one still slips through, the page's policy forbids scripts, requests, and all styles except the page's own.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Final, TextIO

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from srfix.cli.output.interface import Bars, Block, Commands, Heading, Paragraph, Report, Tone, Verdict, names_of
from srfix.recovery.clock import now
from srfix.recovery.commands import in_pieces
from srfix.serde.printable import bounded, printable

if TYPE_CHECKING:
    from srfix.serde.schemas.models import Json


_DOCUMENT: Final = re.compile(r"srfix\.([a-z-]+)/\d+")


def render(report: Report, stream: TextIO) -> None:
    """Verdict, warnings and commands, then the blocks; pure ASCII (the style sheet too), for every pipe and mail."""
    css = _css()
    digest = base64.b64encode(hashlib.sha256(css.encode("utf-8")).digest()).decode("ascii")
    verdict = report.headline or Verdict(text=_kind(report.document), tone=Tone.PLAIN)
    to_run, parts = arranged(report)
    times = (report.document.get(key) for key in ("generated_at", "created_at"))
    generated_at = next((value for value in times if isinstance(value, str) and value), None) or now()
    where = _where(report)
    page = _environment().get_template("page.html.jinja")
    text = page.render(
        css=Markup(css),  # noqa: S704  (our own file)
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        title=": ".join([f"srfix {_kind(report.document)}", *(value for _name, value in where[:2])]),
        kind=_kind(report.document),
        where=where,
        generated_at=generated_at,
        generated_at_in_words=_in_words(generated_at),
        version=version("srfix"),
        verdict=verdict,
        to_run=to_run,
        parts=parts,
        names=names_of(report.document),
    )
    stream.write(f"{text}\n".encode("ascii", "xmlcharrefreplace").decode("ascii"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("srfix.cli.output.html", "."),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "marked": _marked,
        "short": bounded,
        "kind": lambda block: type(block).__name__,
        "flow": flow,
        "most": _most,
    }
    return environment


def _shown(value: object) -> object:
    return value if isinstance(value, Markup) else printable(str(value))


def _most(bars: Bars) -> int:
    """The largest number, which gets the longest bar."""
    return max((number for _name, numbers in bars.rows for number in numbers), default=0) or 1


@pass_context
def _marked(context: Context, text: str) -> Markup:
    names: re.Pattern[str] | None = context["names"]
    return Markup("").join(
        _CODE.format(printable(piece)) if is_command else Markup("").join(_with_names(printable(piece), names))
        for piece, is_command in in_pieces(text)
    )


_CODE: Final = Markup("<code>{}</code>")


def _with_names(text: str, names: re.Pattern[str] | None) -> Iterator[str]:
    """The pieces of a text. `Markup.join` escapes those that are not markup."""
    at = 0
    for match in names.finditer(text) if names is not None else ():
        yield text[at : match.start()]
        yield _CODE.format(match[0])
        at = match.end()
    yield text[at:]


@cache
def _css() -> str:
    return files("srfix.cli.output.html").joinpath("page.css").read_text(encoding="utf-8")


def _kind(document: Mapping[str, Json]) -> str:
    match = _DOCUMENT.fullmatch(str(document.get("schema", "")))
    return match[1] if match is not None else "report"


def _where(report: Report) -> list[tuple[str, str]]:
    """The cluster and the registry, as the report names them, otherwise as its document does."""
    places = [(name, value) for name, value in report.where if value]
    if places:
        return places
    keys = (("cluster", "bootstrap_servers"), ("registry", "registry"))
    fields = [(name, report.document.get(key)) for name, key in keys]
    return [(name, value) for name, value in fields if isinstance(value, str) and value]


def _in_words(generated_at: str) -> str:
    """`2026-05-04 03:12:09 UTC`; a text that is not a time stays unchanged."""
    try:
        return f"{datetime.fromisoformat(generated_at):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return generated_at


_DEEPEST: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    title: str | None
    tone: Tone = Tone.PLAIN
    blocks: list[Block] = field(default_factory=list)


def arranged(report: Report) -> tuple[list[Block], list[Part]]:
    """The commands and warnings, which stand next to the verdict (if there is one), and the rest in parts."""
    if report.verdict is None:
        return [], _parts(report.rest)
    to_run, rest = _apart(report.rest)
    return to_run, _parts(rest)


def flow(blocks: Iterable[Block], above: int) -> Iterator[tuple[int, Block]]:
    """The blocks, each with its HTML heading level, below the heading of level `above`. No level is skipped."""
    has_first = False
    for block in blocks:
        if isinstance(block, Heading):
            is_first = block.level == 1 or block.is_apart
            has_first |= is_first
            yield min(above + (2 if has_first and not is_first else 1), _DEEPEST), block
        else:
            yield min(above + 1, _DEEPEST), block


def _apart(blocks: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """Warnings first, then each group of commands with the line that leads to it and what must be added to it."""
    warnings: list[Block] = []
    to_run: list[Block] = []
    rest: list[Block] = []
    for block in blocks:
        if isinstance(block, Paragraph) and block.is_warning:
            warnings.append(block)
        elif isinstance(block, Commands):
            if rest and isinstance(last := rest[-1], Paragraph) and last.text.endswith(":"):
                to_run.append(rest.pop())
            to_run.append(block)
        elif to_run and isinstance(block, Paragraph) and block.is_of_commands:
            to_run.append(block)
        else:
            rest.append(block)
    return [*warnings, *to_run], rest


def _parts(blocks: Iterable[Block]) -> list[Part]:
    """A part for each first-level heading, and for each second-level heading with no first-level heading above it."""
    parts = [Part(title=None)]
    is_under_first = False
    for block in blocks:
        if isinstance(block, Heading) and (block.level == 1 or block.is_apart or not is_under_first):
            is_under_first = block.level == 1 and not block.is_apart
            parts.append(Part(title=block.text, tone=block.tone))
        else:
            parts[-1].blocks.append(block)
    return [part for part in parts if part.blocks]
