"""The `srfix` command from its first moment: it imports next to nothing, so that an interrupt while the rest is imported ends
as any other does."""

from __future__ import annotations

import gc
import sys

try:
    from collections.abc import Sequence

    from srfix.cli.exit_codes import ExitCode
    from srfix.cli.process import Interrupts, take_over_streams
except KeyboardInterrupt:  # nobody looks out for it yet
    sys.stderr.write("\nStopped; nothing more is done.\n")
    sys.exit(130)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; without arguments, that of the process, whose streams and signals it then takes over.

    Returns the exit code.
    """
    interrupts = Interrupts()
    try:
        if arguments is None:
            interrupts.watch()
            # What imports make stays: it need not be looked through again and again.
            gc.set_threshold(50_000)
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
