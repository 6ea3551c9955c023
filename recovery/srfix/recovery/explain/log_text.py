"""Text as people paste it, made searchable: colours, log prefixes, escapes and wrapped lines taken out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from srfix.serde.bounds import LOG_CHARACTERS

_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_JSON_ESCAPE = re.compile(r'\\(r\\n|n|r|t|"|/|u0027)')
_JSON_ESCAPED = {"r\\n": "\n", "n": "\n", "r": "\n", "t": "\t", '"': '"', "/": "/", "u0027": "'"}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff]")
_COMPOSE_PREFIX = re.compile(
    r"(?m)^(?:> ?){0,5}(?:(?P<of>[\w.-]{1,100} *\||\[pod/[^\]\n]{1,300}\]) ?(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) )?)?"
)
"""The prefix of `docker compose logs` and `kubectl logs --prefix`, also with `--timestamps`; a mail's quote marks."""
_ENTRY = re.compile(
    r"(?m)^\W{0,3}\d{2,4}[-/:]\d\d[^\n]{0,200}?\b(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL)\b(?!\W{0,20}(?:at\s|Caused\sby))"
)
"""The first line of a log entry: it has time and level, and no stack frame after them."""
_FRESH_LINE = re.compile(
    r"\s*(?:at\s|Caused by:|Suppressed:|\.\.\. \d|File \"|Traceback|During handling|The above|[\[{(]"
    r"|\d{2,4}[-/:]\d\d|(?:ERROR|WARN|INFO|DEBUG|TRACE|FATAL)\b|[\w$]+(?:\.[\w$]+)+(?:Exception|Error)\b)"
)
_NARROWEST_WRAP = 40
_WIDEST_WRAP = 320


@dataclass(frozen=True, slots=True, kw_only=True)
class LogText:
    text: str
    """Lines end in `\\n`; no escape sequences, no control characters but tabs."""
    is_cut: bool


def clean(text: str) -> LogText:
    # Only so much of the end of a longer text is read, because the last failure in a log is the one that matters.
    is_cut = len(text) > LOG_CHARACTERS
    text = _ESCAPE_SEQUENCE.sub("", text[-LOG_CHARACTERS:])
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")
    text = _JSON_ESCAPE.sub(lambda match: _JSON_ESCAPED[match[1]], text)
    return LogText(text=_COMPOSE_PREFIX.sub("", _by_container(_CONTROL.sub("", text))), is_cut=is_cut)


def entries(text: str) -> list[str]:
    """The entries of a log, each with the lines of its trace; one entry if no line has time and level."""
    starts = [0, *(match.start() for match in _ENTRY.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(starts) if start < end]


def _by_container(text: str) -> str:
    """Groups the interleaved lines by container; the container that wrote last comes last."""
    lines: dict[str, list[str]] = {}
    for line in text.split("\n"):
        prefix = _COMPOSE_PREFIX.match(line)
        of = "" if prefix is None else prefix["of"] or ""
        lines[of] = lines.pop(of, [])
        lines[of].append(line)
    return "\n".join(line for of_one in lines.values() for line in of_one)


def without_prefixes(text: str) -> str:
    """Removes a log collector's prefix if most lines have one; else the text is unchanged."""
    plain = _ESCAPE_SEQUENCE.sub("", text)
    lines = [line for line in plain.split("\n") if line.strip()]
    prefixed = sum(_COMPOSE_PREFIX.sub("", line) != line for line in lines)
    return _COMPOSE_PREFIX.sub("", plain) if 2 * prefixed > len(lines) else text


def unwrap(text: str) -> str:
    """Joins lines that a terminal broke, which are as wide as the widest line, unless a new entry follows."""
    lines = text.split("\n")
    width = max(map(len, lines))
    if not _NARROWEST_WRAP <= width <= _WIDEST_WRAP:
        return text
    joined = lines[0]
    for before, line in pairwise(lines):
        is_broken = len(before) == width and line and not _FRESH_LINE.match(line)
        joined += line if is_broken else f"\n{line}"
    return joined
