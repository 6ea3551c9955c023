"""Kafka's own reading of JAAS entries and `.properties` texts, in a process of its own, by JSON lines.

Run as a module it is the process. `JavaConfiguration` here is what talks to it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from parts.jars import BROKER
from srfix.fixtures.fetching import fetch


class JavaConfiguration:
    """The process, from outside."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    def jaas(self, text: str) -> list[Any] | None:
        """The module's name and its options as Kafka's clients see them; None if they refuse the entry."""
        return cast("list[Any] | None", self._ask({"jaas": text}))

    def properties(self, content: bytes) -> dict[str, str] | None:
        """What `java.util.Properties` reads of a file's bytes, as Kafka's `Utils.loadProps`; None if it refuses them."""
        return cast("dict[str, str] | None", self._ask({"properties": content.hex()}))

    def _ask(self, request: Mapping[str, str]) -> object:
        self._stdin.write(json.dumps(request) + "\n")
        self._stdin.flush()
        line = self._stdout.readline()
        assert line, "The process has ended; its standard error says why."
        return cast("object", json.loads(line))


@contextmanager
def java_configuration() -> Iterator[JavaConfiguration]:
    """Starts the process; ends it."""
    jars = os.pathsep.join(str(jar) for jar in fetch(BROKER))
    with subprocess.Popen(
        (sys.executable, "-m", "tests.stack.java_configuration", jars),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield JavaConfiguration(process)


# The rest runs in the process.


def _main(class_path: str) -> None:
    import jpype

    jpype.startJVM("-Dorg.slf4j.simpleLogger.defaultLogLevel=off", classpath=class_path.split(os.pathsep))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = _jaas(jpype, request["jaas"]) if "jaas" in request else _properties(jpype, request["properties"])
        except jpype.JException:
            answer = None
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    # A JVM would keep the process alive for its own threads.
    os._exit(0)


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
    _main(sys.argv[1])
