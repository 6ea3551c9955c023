"""The start of the `srfix` command. This module imports almost nothing, so that srfix also handles an interrupt that
comes while the rest is imported."""

from __future__ import annotations

import atexit
import gc
import sys

try:
    from collections.abc import Sequence

    from srfix.cli.exit_codes import ExitCode
    from srfix.cli.process import Interrupts, take_over_streams
except KeyboardInterrupt:  # no handler is installed yet
    sys.stderr.write("\nStopped; nothing more is done.\n")
    sys.exit(130)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line, by default the process's, with its streams and signals. Returns the exit code."""
    interrupts = Interrupts()
    try:
        if arguments is None:
            interrupts.watch()
            # Imported objects live until the end, so the garbage collector need not look at them, even at the end.
            gc.set_threshold(100_000)
            atexit.register(gc.freeze)
            take_over_streams()
            arguments = sys.argv[1:]
        from srfix.cli.command_line import run

        return run(arguments, interrupts)
    except BaseException as error:
        if not interrupts.caused(error):
            raise
        sys.stderr.write("\nStopped; nothing more is done.\n")
        return ExitCode.INTERRUPTED
    finally:
        interrupts.command_is_over()
