"""The command without its start: forked off a process that has imported what every command imports.

A fork has a process, standard streams, an environment, a working directory and an exit of its own, as the installed
command has, and the same `main()` runs. Only what happens while Python starts, and after its last thread and exit function,
is not seen: that is for `kept_demo.started`.

Run as a script this is the process that is forked off: it is told about each command over its standard input, a socket.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests.forking import become, end_as_python_does, import_commands, serve

_lock = threading.Lock()
_forking: tuple[socket.socket, subprocess.Popen[bytes]] | None = None
"""The way to the process that is forked off, started for the first command."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a command may take; None for as much as there is."""

    file_bytes: int | None = None
    """Beyond that no file that it writes may grow."""
    cpu_s: int | None = None
    memory_bytes: int | None = None
    """Address space beyond what the process has when its imports are done."""

    def impose(self) -> None:
        """On this process."""
        if self.file_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.file_bytes,) * 2)
        if self.cpu_s is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (self.cpu_s, self.cpu_s + 1))
        if self.memory_bytes is not None:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + self.memory_bytes,) * 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class End(NamedTuple):
    code: int
    """Negative for a signal."""
    cpu_s: float
    """User and system time."""
    peak_bytes: int
    """Its largest resident set."""


class Forked:
    """A command that runs, or has run."""

    def __init__(
        self,
        arguments: list[str],
        *,
        streams: tuple[int, int, int],
        env: Mapping[str, str],
        cwd: Path | None,
        limits: Limits = Limits(),
    ) -> None:
        """
        :param arguments: the first is its own name.
        :param streams: its standard streams; the caller closes its own ends.
        """
        global _forking
        self._arguments = arguments
        told = {"argv": arguments, "env": dict(env), "cwd": os.fspath(cwd or Path.cwd()), "limits": asdict(limits)}
        self._answers, theirs = socket.socketpair()
        with theirs, _lock, tempfile.TemporaryFile() as orders:  # a message has a largest size
            orders.write(json.dumps(told).encode())
            orders.flush()
            if _forking is None or _forking[1].poll() is not None:
                _forking = _start()
            socket.send_fds(_forking[0], [b"go"], [theirs.fileno(), orders.fileno(), *streams])
        self._lines = self._answers.makefile("r")
        self.pid = int(self._lines.readline())

    def wait(self, timeout_s: float) -> End:
        """Waits for it.

        :raises subprocess.TimeoutExpired: if it does not end in time; it is killed.
        :raises EOFError: if the process that it was forked off was killed, for want of memory.
        """
        self._answers.settimeout(timeout_s)
        try:
            told = self._lines.readline().split()
            if not told:
                raise EOFError
            return End(int(told[0]), float(told[1]), int(told[2]))
        except TimeoutError:
            os.kill(self.pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(self._arguments, timeout_s) from None
        finally:
            self._lines.close()
            self._answers.close()


def run_forked(
    arguments: list[str],
    *,
    stdin: str,
    timeout_s: float,
    env: Mapping[str, str],
    cwd: Path | None,
    limits: Limits = Limits(),
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` of the installed command with these arguments (the first is its own name), all piped.

    :raises subprocess.TimeoutExpired: if it does not end in time; it is killed.
    """
    (in_r, in_w), (out_r, out_w), (err_r, err_w) = os.pipe(), os.pipe(), os.pipe()
    command = Forked(arguments, streams=(in_r, out_w, err_w), env=env, cwd=cwd, limits=limits)
    for descriptor in (in_r, out_w, err_w):
        os.close(descriptor)
    said: dict[str, str] = {}
    readers = [
        threading.Thread(target=_read, args=(said, "stdout", os.fdopen(out_r, encoding="utf-8"))),
        threading.Thread(target=_read, args=(said, "stderr", os.fdopen(err_r, encoding="utf-8"))),
        threading.Thread(target=_write, args=(os.fdopen(in_w, "w", encoding="utf-8"), stdin)),
    ]
    for thread in readers:
        thread.start()
    try:
        code = command.wait(timeout_s).code
    finally:
        for thread in readers:
            thread.join()
    return subprocess.CompletedProcess(arguments, code, said["stdout"], said["stderr"])


def end_forking() -> None:
    """Ends the process that is forked off, if there is one."""
    global _forking
    if _forking is not None:
        control, process = _forking
        control.close()
        process.communicate(timeout=30)
        _forking = None


def _read(said: dict[str, str], name: str, stream: IO[str]) -> None:
    with stream:
        said[name] = stream.read()


def _write(stream: IO[str], text: str) -> None:
    try:
        with stream:
            stream.write(text)
    except BrokenPipeError:  # it ended without reading
        pass


def _start() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), kept.get("PYTHONPATH")]))
    # Its own streams are pipes, as the commands' are. `-P`: what is beside this file is not to be imported.
    command = [sys.executable, "-P", __file__]
    with theirs:
        process = subprocess.Popen(
            command, stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=kept
        )
    atexit.register(end_forking)
    return ours, process


def _main() -> None:
    main = import_commands()
    _message, (orders, *streams) = serve(socket.socket(fileno=os.dup(0)))
    with os.fdopen(orders, "rb") as file:
        file.seek(0)
        told: dict[str, Any] = json.load(file)
    become(told, streams)
    Limits(**told["limits"]).impose()
    end_as_python_does(main())


if __name__ == "__main__":
    _main()
