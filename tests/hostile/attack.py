"""An attack on the command: it runs in a process of its own under limits, and what it did is judged.

It is forked off as in `tests.cli.forked`, so that a hundred attacks take a minute; its streams are files, so that what it
wrote is seen byte by byte.
"""

# ruff: noqa: E501  (a case a line)
from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.cli.forked import Forked, Limits

CPU_S: Final = 30
"""What a command may compute. None that is attacked here has work for more than three seconds."""
WALL_S: Final = 90.0
"""When a command that does not end is killed. The machine may be busy."""
MEMORY: Final = 3 << 29
"""Address space beyond what the process has when its imports are done, in bytes."""

_SGR: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, kw_only=True)
class Done:
    args: Sequence[str]
    """What was given, without the command's own name."""
    returncode: int
    """Its exit code; negative for a signal; -1000 if it was killed because it did not end,
    -1001 if it took the machine's memory."""
    out: bytes
    err: bytes
    cpu_s: float
    """User and system time."""
    peak_bytes: int
    """Its largest resident set, with some 150 MB that it began with."""

    @property
    def stdout(self) -> str:
        return self.out.decode("utf-8", "backslashreplace")

    @property
    def stderr(self) -> str:
        return self.err.decode("utf-8", "backslashreplace")

    @property
    def document(self) -> Any:
        """Its standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Its standard output as a JSON document a line."""
        return [json.loads(line) for line in self.out.splitlines()]


def attack(
    *arguments: str | bytes | Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    cwd: Path | None = None,
    cpu_s: int = CPU_S,
    memory: int = MEMORY,
    wall_s: float = WALL_S,
) -> Done:
    """Runs the command without a terminal under limits."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SRFIX_", "PYTHONUNBUFFERED", "COLUMNS"))
    }
    argv = [os.fsdecode(argument) for argument in arguments]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        command = Forked(
            ["srfix", *argv],
            streams=(given.fileno(), out.fileno(), err.fileno()),
            env={**kept, **(env or {})},
            cwd=cwd,
            limits=Limits(cpu_s=cpu_s, memory_bytes=memory),
        )
        try:
            code, cpu, peak = command.wait(wall_s)
        except subprocess.TimeoutExpired:
            code, cpu, peak = -1000, wall_s, 0
        except EOFError:
            with contextlib.suppress(ProcessLookupError):
                os.kill(command.pid, signal.SIGKILL)
            code, cpu, peak = -1001, 0.0, 0
        out.seek(0)
        err.seek(0)
        return Done(args=argv, returncode=code, out=out.read(), err=err.read(), cpu_s=cpu, peak_bytes=peak)


def judge(
    done: Done,
    *,
    codes: Sequence[int] = (0, 1, 2, 3),
    secrets: Sequence[str] = (),
    most: int = 4 << 20,
    peak: int | None = None,
) -> Done:
    """Fails unless it ended as any command has to; returns it.

    :param secrets: texts that may stand nowhere.
    :param most: how many bytes it may say, on each stream.
    :param peak: how much memory it may have held at once, if that is looked at.
    """
    said = f"srfix {' '.join(repr(a)[:200] for a in done.args)}\n→ {done.returncode}, {done.cpu_s:.1f} s CPU, {done.peak_bytes >> 20} MB"
    text = f"{said}\n{done.stdout[-3000:]}\n--- stderr\n{done.stderr[-3000:]}"
    assert done.returncode in codes, text
    assert b"Traceback" not in done.err + done.out, text
    assert b"bug of srfix" not in done.err, text
    for stream in (done.out, done.err):
        assert len(stream) <= most, f"{len(stream)} bytes said\n{said}"
        unprintable = sorted({c for c in _SGR.sub("", stream.decode("utf-8")) if not c.isprintable() and c != "\n"})
        assert not unprintable, f"{[hex(ord(c)) for c in unprintable]}\n{text!r}"
    for secret in secrets:
        assert secret not in done.stdout + done.stderr, f"{secret!r} is shown\n{text}"
    if peak is not None:
        assert done.peak_bytes <= peak, text
    return done
