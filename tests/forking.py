"""A process that is forked off, once for each command: how it is told what to run, and tells how that ended.

To start Python and import takes half a second of CPU, which a test run would spend thousands of times. One fork costs
milliseconds.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import select
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

# What commands import when they run: of srfix whole rooms, and of others what takes long.
_ROOMS: Final = ("serde", "recovery", "cli")
_NOT_OF_COMMANDS: Final = ("spark", "confluent", "__main__", "reference")
_MORE: Final = (
    *("click._textwrap", "confluent_kafka.admin", "fastavro", "javaproperties", "orjson", "portalocker", "requests"),
    *("rich.console", "rich.progress", "rich.table", "tenacity"),
)
_MESSAGE_BYTES: Final = 1 << 20
_MOST_DESCRIPTORS: Final = 8


def import_commands() -> Callable[[], int]:
    """The command's main function, all that it imports imported."""
    from srfix.cli.main import main

    names = set(_MORE)
    for room in _ROOMS:
        package = importlib.import_module(f"srfix.{room}")
        found = pkgutil.walk_packages(package.__path__, f"srfix.{room}.")
        names.update(each.name for each in found if not any(part in each.name for part in _NOT_OF_COMMANDS))
    for name in sorted(names):
        importlib.import_module(name)
    gc.freeze()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return main


def serve(control: socket.socket) -> tuple[bytes, list[int]]:
    """Returns in each fork: with the message that it was made for, and the descriptors that came along but for the first.

    Into the first goes a line with the fork's process id, and, when it has ended, a line with its exit code (negative for
    a signal), the CPU seconds that it used, and its largest resident set in bytes. Where the other end of `control` is
    closed, this process ends.
    """
    running: dict[int, tuple[int, int]] = {}
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    while True:
        for descriptor, _ in waiting.poll():
            if descriptor in running:
                waiting.unregister(descriptor)
                os.close(descriptor)
                _tell_end(*running.pop(descriptor))
                continue
            message, (answers, *others) = _received(control)
            pid = os.fork()
            if pid == 0:
                control.close()
                for pid_descriptor, (_, answers_of) in running.items():
                    os.close(pid_descriptor)
                    os.close(answers_of)
                os.close(answers)
                return message, others
            with contextlib.suppress(BrokenPipeError):
                os.write(answers, b"%d\n" % pid)
            for each in others:
                os.close(each)
            pid_descriptor = os.pidfd_open(pid)
            running[pid_descriptor] = pid, answers
            waiting.register(pid_descriptor, select.POLLIN)


def _received(control: socket.socket) -> tuple[bytes, list[int]]:
    message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, _MOST_DESCRIPTORS)
    if not message:
        os._exit(0)
    return message, descriptors


def _tell_end(pid: int, answers: int) -> None:
    _, status, used = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    with contextlib.suppress(BrokenPipeError):  # nobody waits any more
        os.write(answers, f"{code} {used.ru_utime + used.ru_stime:.3f} {used.ru_maxrss * 1024}\n".encode())
    os.close(answers)


def become(told: Mapping[str, Any], streams: list[int]) -> None:
    """Gives a fork the `argv`, `env` and `cwd` that it was told, and its standard streams."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.argv = told["argv"]
    os.environ.clear()
    os.environ.update(told["env"])
    tempfile.tempdir = None  # noted before the fork, of the environment that was
    os.chdir(told["cwd"])


def end_as_python_does(code: int) -> NoReturn:
    """Ends the process as the end of a program does, but for the taking apart of a thousand modules.

    That would touch, and so copy, each page of memory that the fork shares with its parent.
    """
    import atexit

    try:
        threading._shutdown()  # type: ignore[attr-defined] # waits for threads
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except BaseException:  # noqa: BLE001 - whatever it is, the ordinary end tells it
        sys.exit(code)
    os._exit(code)
