"""How the benchmarks measure, and how they print: CPU time of routes that take turns, and gates.

Other processes disturb a machine's caches and clock, CPU time included. Therefore the routes of a group take short turns,
so that whatever happens meets them alike, and a ratio is the median of the rounds' ratios. A batch's turn is too long for
that: there the quickest of a route's turns counts, which was disturbed least (bench_spark takes medians there).
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Route: TypeAlias = Callable[[], object]
"""One turn's work: one record, or one batch of them."""

_WIDTH = 38


def arguments(description: str | None, *, records: int, rounds: int) -> argparse.Namespace:
    """`--records` and `--rounds`."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0] if description else None)
    parser.add_argument(
        "--records", type=int, default=records, help=f"records per route and round (default {records:,})"
    )
    parser.add_argument("--rounds", type=int, default=rounds, help=f"interleaved rounds (default {rounds})")
    return parser.parse_args()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """CPU nanoseconds a record."""

    spent: Mapping[str, list[float]]
    """Of each round, by route."""
    of_batches: bool = False
    """The quickest turn counts."""

    def of(self, route: str) -> float:
        """The median over the rounds; of batches the least."""
        return min(self.spent[route]) if self.of_batches else statistics.median(self.spent[route])

    def ratio(self, route: str, other: str) -> float:
        """How many times the other route's time: the median of the rounds' ratios; of batches the ratio of the least."""
        if self.of_batches:
            return self.of(route) / self.of(other)
        pairs = zip(self.spent[route], self.spent[other], strict=True)
        return statistics.median(one / another for one, another in pairs)

    def cheapest(self, *routes: str) -> str:
        """The quickest route."""
        return min(routes, key=self.of)


def measure(routes: Mapping[str, Route], *, records: int, rounds: int, records_a_turn: int = 1) -> Figures:
    """Each round does `records` records by each route, the routes in turn."""
    spent: dict[str, list[float]] = {name: [] for name in routes}
    turns = range(max(records // records_a_turn, 1))
    if records_a_turn == 1:  # batches are costly, and warm up within their turn
        for route in routes.values():
            route()
    for number in range(rounds):
        gc.collect()
        # Forwards and backwards: whoever comes first in a round pays for what the collector has done to the caches.
        for name in list(routes)[:: 1 if number % 2 else -1]:
            route = routes[name]
            if records_a_turn == 1:  # who follows the collector would pay for what it has done to the caches
                route()
            begun = time.process_time_ns()
            for _ in turns:
                route()
            spent[name].append((time.process_time_ns() - begun) / (len(turns) * records_a_turn))
    return Figures(spent=spent, of_batches=records_a_turn > 1)


def table(title: str, figures: Figures, *beside: str) -> None:
    """A line for each route: its time, and how many times that of others."""
    print(f"\n{title:{_WIDTH}}{'ns':>9}" + "".join(f"{'/ ' + other:>28}" for other in beside))
    for route in figures.spent:
        ratios = "".join(f"{figures.ratio(route, other):28.2f}" for other in beside)
        print(f"  {route:{_WIDTH - 2}}{figures.of(route):9.0f}{ratios}")


def gate(what: str, figure: float, *, at_most: float | None = None, at_least: float | None = None) -> bool:
    """Prints whether a figure is what is wanted."""
    if at_least is not None:
        holds, wanted = figure >= at_least, f"≥ {at_least:g}"
    else:
        assert at_most is not None
        holds, wanted = figure <= at_most, f"≤ {at_most:g}"
    print(f"    {'holds ' if holds else 'MISSED'} {what}: {figure:.2f} (wanted {wanted})")
    return holds
