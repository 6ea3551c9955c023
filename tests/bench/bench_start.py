"""What a command costs before it does anything: CPU seconds of its process, beside Python's own start and click's.

    python -m tests.bench.bench_start [--rounds R]

`--help` of every command, and `diagnose` with a registry and a cluster that nothing listens at, which ends where it would ask
the first. Of each the least of the rounds counts. The peers: `python -c pass`, and `python -c "import click"`.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Sequence

from srfix.cli.command_table import every_command
from tests.bench.measuring import gate

_HELP_S = 0.25
_DIAGNOSE_S = 0.40
_NOBODY = ("--bootstrap-servers", "localhost:1", "--registry", "http://localhost:1", "-X", "socket.timeout.ms=100")


def cpu_s(command: Sequence[str], rounds: int) -> float:
    """The least user and system time of a process that runs the command."""
    return min(_once(command) for _ in range(rounds))


def _once(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints the table, and whether the dearest help and the start of `diagnose` cost what they may."""
    parser = argparse.ArgumentParser(description="What a command costs before it does anything.")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each command; the least counts (default 5)")
    rounds = parser.parse_args().rounds
    print("CPU s")
    for peer in ("pass", "import click"):
        print(f"{cpu_s(('-c', peer), rounds):5.2f}  python -c '{peer}'")
    helps = {name: cpu_s(("-m", "srfix.cli", *name.split(), "--help"), rounds) for name in every_command()}
    for name, spent in helps.items():
        print(f"{spent:5.2f}  srfix {name} --help")
    diagnose = cpu_s(("-m", "srfix.cli", "diagnose", *_NOBODY), rounds)
    print(f"{diagnose:5.2f}  srfix diagnose, until the cluster does not answer")
    gate("the dearest --help, CPU s", max(helps.values()), at_most=_HELP_S)
    gate("the start of diagnose, CPU s", diagnose, at_most=_DIAGNOSE_S)


if __name__ == "__main__":
    main()
