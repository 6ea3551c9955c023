"""The command without its start: forked off a process that has imported what every command imports.

To start Python and import takes half a second of CPU, which a test run would spend hundreds of times. A fork has a process,
standard streams, an environment, a working directory and an exit of its own, as the installed command has: the same
`main()` runs, and the interpreter ends as it does. Only what happens while Python starts is not seen: that is for
`kept_demo.started`.

Run as a script this is the process that is forked off: it is told about each command over its standard input, a socket.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

__all__ = ["end_forking", "run_forked"]

# What commands import when they are called.
_MORE: Final = (
    "confluent_kafka.admin",
    "fastavro",
    "orjson",
    "requests",
    "rich.console",
    "rich.progress",
    "rich.table",
)
_MESSAGE_BYTES: Final = 1 << 20

_lock = threading.Lock()
_forking: tuple[socket.socket, subprocess.Popen[bytes]] | None = None
"""The way to the process that is forked off, started for the first command."""


def run_forked(
    arguments: list[str], *, stdin: str, timeout_s: float, env: Mapping[str, str], cwd: Path | None
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` of the installed command with these arguments (the first is its own name), all piped.

    :raises subprocess.TimeoutExpired: if it does not end in time; it is killed.
    """
    global _forking
    told = {"argv": arguments, "env": dict(env), "cwd": os.fspath(cwd or Path.cwd())}
    ours, theirs = socket.socketpair()
    (in_r, in_w), (out_r, out_w), (err_r, err_w) = os.pipe(), os.pipe(), os.pipe()
    with ours:
        with theirs:
            theirs_now = [theirs.fileno(), in_r, out_w, err_w]
            with _lock:
                _forking = _forking or _start()
                socket.send_fds(_forking[0], [json.dumps(told).encode()], theirs_now)
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
        answers = ours.makefile("r")
        pid = int(answers.readline())
        ours.settimeout(timeout_s)
        try:
            code = int(answers.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(arguments, timeout_s) from None
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
    # Its own streams are pipes, as the commands' are. `-P`: what is beside this file is not to be imported.
    command = [sys.executable, "-P", __file__]
    with theirs:
        process = subprocess.Popen(
            command, stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=kept
        )
    return ours, process


def _serve(control: socket.socket) -> None:
    """Returns in each fork that is to run a command; `sys.argv` and all else are as it wants them."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, 4)
        if not message:
            os._exit(0)
        waiting = os.fork()
        if waiting == 0:
            control.close()
            _await_command(json.loads(message), *descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        os.waitpid(waiting, 0)  # it forks once more, and is gone


def _await_command(told: Mapping[str, Any], answers: int, *streams: int) -> None:
    """Returns in the command's own process; another one waits for it and tells how it ended."""
    if os.fork() != 0:
        os._exit(0)
    command = os.fork()
    if command != 0:
        for stream in streams:
            os.close(stream)
        os.write(answers, b"%d\n" % command)
        code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
        os.write(answers, b"%d\n" % code)
        os._exit(0)
    os.close(answers)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.argv = told["argv"]
    os.environ.clear()
    os.environ.update(told["env"])
    tempfile.tempdir = None  # noted before the fork, of the environment that was
    os.chdir(told["cwd"])


def _main() -> int:
    from srfix.cli.command_table import COMMANDS
    from srfix.cli.main import main

    for name in (*(entry.target.partition(":")[0] for entry in COMMANDS.values()), *_MORE):
        importlib.import_module(name)
    gc.freeze()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _serve(socket.socket(fileno=os.dup(0)))
    return main()


if __name__ == "__main__":
    sys.exit(_main())
