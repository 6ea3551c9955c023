"""Java's classes in a process of their own, by JSON lines: what the tests ask it with, and the loop that it answers in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


class JavaProcess:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    def ask(self, request: Mapping[str, Json]) -> Json:
        self._stdin.write(json.dumps(request) + "\n")
        self._stdin.flush()
        line = self._stdout.readline()
        assert line, "Java's process has ended; its standard error says why."
        return cast("Json", json.loads(line))


@contextmanager
def java_process(module: str, jars: Iterable[Path], *more: str) -> Iterator[JavaProcess]:
    """Runs a module, which calls `serve`, with a class path; ends it."""
    command = (sys.executable, "-m", module, os.pathsep.join(map(str, jars)), *more)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield JavaProcess(process)


def serve(
    class_path: str,
    make: Callable[[Any], Callable[[dict[str, Any]], Any]],
    refused: Callable[[Any], Json],
    *options: str,
    **more: Any,
) -> None:
    """Answers each line of standard input, in the process.

    :param make: given jpype with its JVM, what answers a request.
    :param refused: the answer where Java threw.
    """
    import jpype

    jpype.startJVM(*options, classpath=class_path.split(os.pathsep), **more)
    answer = make(jpype)
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except jpype.JException as error:
            found = refused(error)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
    # A JVM would keep the process alive for its own threads.
    os._exit(0)
