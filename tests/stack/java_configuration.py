"""Kafka's own reading of JAAS entries and `.properties` texts, in a process of its own, by JSON lines.

Run as a module it is the process. `JavaConfiguration` here is what talks to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from parts.jars import BROKER
from srfix.fixtures.fetching import fetch
from tests.stack.java_process import JavaProcess, java_process, serve


class JavaConfiguration:
    def __init__(self, process: JavaProcess) -> None:
        self._ask = process.ask

    def jaas(self, text: str) -> list[Any] | None:
        """The module's name and its options as Kafka's clients see them; None if they refuse the entry."""
        return cast("list[Any] | None", self._ask({"jaas": text}))

    def properties(self, content: bytes) -> dict[str, str] | None:
        """What `java.util.Properties` reads of a file's bytes, as Kafka's `Utils.loadProps`; None if it refuses them."""
        return cast("dict[str, str] | None", self._ask({"properties": content.hex()}))


@contextmanager
def java_configuration() -> Iterator[JavaConfiguration]:
    with java_process("tests.stack.java_configuration", fetch(BROKER)) as process:
        yield JavaConfiguration(process)


# The rest runs in the process.


def _answering(jpype: Any) -> Any:
    return lambda request: (
        _jaas(jpype, request["jaas"]) if "jaas" in request else _properties(jpype, request["properties"])
    )


def _jaas(jpype: Any, text: str) -> Any:
    context = jpype.JClass("org.apache.kafka.common.security.JaasContext")
    password = jpype.JClass("org.apache.kafka.common.config.types.Password")
    config = jpype.JClass("java.util.HashMap")()
    config.put("sasl.jaas.config", password(text))
    (entry,) = context.loadClientContext(config).configurationEntries()
    if entry.getOptions().containsKey(None):  # a sign in a name's place, which Kafka keeps and nobody can ask for
        return None
    options = {str(each.getKey()): str(each.getValue()) for each in entry.getOptions().entrySet()}
    return [str(entry.getLoginModuleName()), options]


def _properties(jpype: Any, content: str) -> Any:
    properties = jpype.JClass("java.util.Properties")()
    properties.load(jpype.JClass("java.io.ByteArrayInputStream")(jpype.JArray(jpype.JByte)(bytes.fromhex(content))))
    return {str(each.getKey()): str(each.getValue()) for each in properties.entrySet()}


if __name__ == "__main__":
    serve(sys.argv[1], _answering, lambda _error: None, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
