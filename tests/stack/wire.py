"""Square Wire's parser of .proto texts in a process of its own: texts in, its trees out, as JSON lines.

Run as a module it is the process. `Wire` here is what talks to it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from parts.jars import WIRE
from srfix.fixtures.fetching import fetch
from tests.stack.java_process import JavaProcess, java_process, serve


class Wire:
    def __init__(self, process: JavaProcess) -> None:
        self._ask = process.ask

    def tree(self, text: str) -> str | None:
        """What it reads in a text, in Java's words, without places; None if it refuses the text."""
        answer = self._ask({"text": text})
        return None if answer is None else str(answer)


@contextmanager
def wire() -> Iterator[Wire]:
    with java_process("tests.stack.wire", fetch(WIRE)) as process:
        yield Wire(process)


# The rest runs in the process.


class _Java:
    def __init__(self, jpype: Any) -> None:
        parser = jpype.JClass("com.squareup.wire.schema.internal.parser.ProtoParser")
        self._parser = parser.class_.getField("Companion").get(None)
        self._location = jpype.JClass("com.squareup.wire.schema.Location").get("")

    def answer(self, request: dict[str, Any]) -> str:
        return re.sub(r"location=[\d:]*", "", str(self._parser.parse(self._location, request["text"]).toString()))


if __name__ == "__main__":
    serve(sys.argv[1], lambda jpype: _Java(jpype).answer, lambda _error: None, convertStrings=True)
