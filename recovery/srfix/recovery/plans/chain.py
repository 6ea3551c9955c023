"""How the lines of a journal hang together.

Each line ends with a digest over itself and the whole line before it (`chain`), so that a line that is missing, doubled,
moved or damaged is noticed; only an end that was cut off is not. Journals from before there were such digests are held to the
order in which a plan's lines are written (`plans.journal`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

from srfix.recovery.errors import PlanError
from srfix.serde.files import parse_json
from srfix.serde.schemas.models import Json

_CHAIN: Final = re.compile(rb', "chain": "([0-9a-f]{64})"\}\Z')


def chained(body: bytes, previous: bytes) -> bytes:
    """A line without its end, with the digest that ties it to the whole line before it (none before the first)."""
    return body.removesuffix(b"}") + b', "chain": "' + _digest(body, previous) + b'"}'


def _digest(body: bytes, previous: bytes) -> bytes:
    return hashlib.sha256(previous + b"\n" + body).hexdigest().encode()


def is_cut_first_line(content: bytes) -> bool:
    """True if this is how the first line of a journal begins, as far as it goes."""
    rest = content
    for literal, then in _BEGINNING:
        if len(rest) < len(literal):
            return rest is not content and literal.startswith(rest)
        if not rest.startswith(literal):
            return False
        rest = rest[len(literal) :].lstrip(then)
    return True


_PRINTABLE: Final = bytes(code for code in range(0x20, 0x7F) if chr(code) not in '"\\')
_BEGINNING: Final = (
    (b'{"at": "', b"0123456789-:T.+Z"),
    (b'", "by": {"host": "', _PRINTABLE),
    (b'", "pid": ', b"0123456789"),
    (b'}, "digest": "sha256:', b"0123456789abcdef"),
    (b'", "event": "begun", "plan": {', b""),
)
"""What stands there word by word, and the characters of what follows."""


def chained_documents(path: Path, content: bytes) -> Iterator[tuple[int, dict[str, Json]]]:
    """The lines of a journal (each with its end in `content`) with their numbers, from 1 on, each once it is seen to hang on
    the one before.

    The first comes before that: what is no journal at all says so first. What is no object says nothing, nor does a first line
    that is no JSON.
    """
    is_chained, previous = False, b""
    for number, ended in enumerate(content.split(b"\n")[:-1], start=1):
        line = ended.removesuffix(b"\r")
        try:
            parsed = cast("Json", parse_json(line))
        except ValueError as error:
            if number > 1:
                raise unreadable(path, number) from error
            parsed = None
        document = parsed if isinstance(parsed, dict) else {}
        if number == 1:
            yield number, document
        if _is_chained(path, number, line, previous):
            is_chained = True
        elif is_chained:
            raise does_not_follow(path, number)
        if number > 1:
            yield number, document
        previous = line


def _is_chained(path: Path, number: int, line: bytes, previous: bytes) -> bool:
    """False if it is tied to none."""
    found = _CHAIN.search(line)
    if found is None:
        return False
    if found[1] != _digest(line[: found.start()] + b"}", previous):
        raise does_not_follow(path, number)
    return True


def unreadable(path: Path, number: int) -> PlanError:
    """The error for a line that says nothing that is known."""
    return PlanError(f"Line {number} of the journal {path} cannot be read. {_ADVICE}")


def does_not_follow(path: Path, number: int) -> PlanError:
    """The error for a line that cannot stand where it stands."""
    return PlanError(
        f"Line {number} of the journal {path} does not follow the one before it: a line is missing, doubled, changed or "
        f"stands in another place. {_ADVICE}"
    )


_ADVICE: Final = (
    "It was damaged or edited; srfix does not guess what was done, and nothing was written. Restore it from a copy, or "
    "compare the registry with the plan by hand."
)
