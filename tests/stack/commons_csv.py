"""Commons CSV 1.4, and Java's parsers of numbers, in a process of their own, called as `KsqlDelimitedSerializer` and
`KsqlDelimitedDeserializer` call them, by JSON lines. Those classes themselves are not to be had from a package registry.

Run as a module it is the process. `CommonsCsv` here is what talks to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from parts.jars import COMMONS_CSV
from srfix.fixtures.fetching import fetch
from tests.stack.java_process import JavaProcess, Json, java_process, serve


class CommonsCsv:
    def __init__(self, process: JavaProcess) -> None:
        self._ask = process.ask

    def write(self, fields: list[str | None], delimiter: str) -> str:
        """`CSVPrinter.printRecord`, without the end of the line."""
        return str(self._ask({"write": cast("Json", fields), "delimiter": delimiter}))

    def read(self, text: str, delimiter: str) -> list[str] | None:
        """The fields of the first record; None if there is none, or something is no CSV."""
        return cast("list[str] | None", self._ask({"read": text, "delimiter": delimiter}))

    def parsed(self, type_: str, text: str) -> str | None:
        """The text of what Java makes of a field (`Integer.parseInt`, …); None if it refuses it."""
        return cast("str | None", self._ask({"parse": text, "type": type_}))


@contextmanager
def commons_csv() -> Iterator[CommonsCsv]:
    with java_process("tests.stack.commons_csv", fetch(COMMONS_CSV)) as process:
        yield CommonsCsv(process)


# The rest runs in the process.


class _Java:
    def __init__(self, jpype: Any) -> None:
        def of(name: str) -> Any:
            return jpype.JClass(name)

        csv = "org.apache.commons.csv"
        self._default, self._parser, self._printer = (
            of(f"{csv}.CSVFormat").DEFAULT,
            of(f"{csv}.CSVParser"),
            of(f"{csv}.CSVPrinter"),
        )
        self._writer, self._list = of("java.io.StringWriter"), of("java.util.ArrayList")
        base64 = of("java.util.Base64").getDecoder()
        self._parsers: dict[str, Callable[[str], Any]] = {
            "BOOLEAN": lambda text: of("java.lang.Boolean").parseBoolean(text),
            "INT": lambda text: of("java.lang.Integer").parseInt(text),
            "BIGINT": lambda text: of("java.lang.Long").parseLong(text),
            "DOUBLE": lambda text: of("java.lang.Double").toHexString(of("java.lang.Double").parseDouble(text)),
            "DECIMAL": lambda text: of("java.math.BigDecimal")(text).toPlainString(),
            "BYTES": lambda text: bytes(byte & 255 for byte in base64.decode(text)).hex(),
        }

    def answer(self, request: dict[str, Any]) -> object:
        if "parse" in request:
            return str(self._parsers[request["type"]](request["parse"]))
        format_ = self._default.withDelimiter(request["delimiter"])
        if "read" in request:
            records = self._parser.parse(request["read"], format_).getRecords()
            return None if records.isEmpty() else [str(field) for field in records.get(0)]
        fields, writer = self._list(), self._writer()
        for field in request["write"]:
            fields.add(field)
        self._printer(writer, format_).printRecord(fields)
        return str(writer.toString())[:-2]


if __name__ == "__main__":
    serve(sys.argv[1], lambda jpype: _Java(jpype).answer, lambda _error: None, convertStrings=True)
