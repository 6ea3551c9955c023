"""The command without its start: forked off a process that has imported what every command imports.

A fork has a process, standard streams, an environment, a working directory and an exit of its own, as the installed
command has, and the same `main()` runs. Only what happens while Python starts, and after its last thread and exit function,
is not seen: that is for `kept_demo.started`.

Run as a script this is the process that is forked off: it is told about each command over its standard input, a socket.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tests.forking import become, end_as_python_does, import_commands, serve

__all__ = ["Forked", "end_forking", "run_forked"]

_lock = threading.Lock()
_forking: tuple[socket.socket, subprocess.Popen[bytes]] | None = None
"""The way to the process that is forked off, started for the first command."""


class Forked:
    """A command that runs, or has run."""

    def __init__(
        self,
        arguments: list[str],
        *,
        streams: tuple[int, int, int],
        env: Mapping[str, str],
        cwd: Path | None,
        most_file_bytes: int | None = None,
    ) -> None:
        """
        :param arguments: the first is its own name.
        :param streams: its standard streams; the caller closes its own ends.
        :param most_file_bytes: beyond what no file that it writes may grow.
        """
        global _forking
        self._arguments = arguments
        told: dict[str, object] = {"argv": arguments, "env": dict(env), "cwd": os.fspath(cwd or Path.cwd())}
        told["most_file_bytes"] = most_file_bytes
        self._answers, theirs = socket.socketpair()
        with theirs, _lock:
            _forking = _forking or _start()
            socket.send_fds(_forking[0], [json.dumps(told).encode()], [theirs.fileno(), *streams])
        self._lines = self._answers.makefile("r")
        self.pid = int(self._lines.readline())

    def wait(self, timeout_s: float) -> int:
        """Its exit code, negative for a signal.

        :raises subprocess.TimeoutExpired: if it does not end in time; it is killed.
        """
        self._answers.settimeout(timeout_s)
        try:
            return int(self._lines.readline().split()[0])
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
    most_file_bytes: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` of the installed command with these arguments (the first is its own name), all piped.

    :raises subprocess.TimeoutExpired: if it does not end in time; it is killed.
    """
    (in_r, in_w), (out_r, out_w), (err_r, err_w) = os.pipe(), os.pipe(), os.pipe()
    command = Forked(arguments, streams=(in_r, out_w, err_w), env=env, cwd=cwd, most_file_bytes=most_file_bytes)
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
        code = command.wait(timeout_s)
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
    return ours, process


def _main() -> None:
    main = import_commands()
    message, streams = serve(socket.socket(fileno=os.dup(0)))
    told = json.loads(message)
    become(told, streams)
    if told["most_file_bytes"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (told["most_file_bytes"],) * 2)
    end_as_python_does(main())


if __name__ == "__main__":
    _main()
