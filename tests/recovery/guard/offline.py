"""What guard foretells of a printed topology by names alone."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from srfix.recovery.diagnosis.forecast import foretell
from srfix.recovery.facts.reader import Reader, StreamsVersion
from srfix.recovery.facts.supplied import GivenTopology, Supplied
from srfix.recovery.forecasts import Foretold
from srfix.recovery.guard.models import Assumed, Forecast, parse_optimization
from srfix.recovery.topology import parse_topologies
from tests.recovery.staging import graph

DATA: Final = Path(__file__).parents[1] / "state/data"
APPLICATION: Final = "shop"


def version(text: str | None) -> StreamsVersion | None:
    return None if text is None else StreamsVersion.parse(text)


def supplied(text: str, application: str | None = APPLICATION) -> Supplied:
    return Supplied(
        topologies=tuple(
            GivenTopology(topology=topology, origin="t.txt", application=application)
            for topology in parse_topologies(text, origin="t.txt")
        )
    )


def assumed(
    running: str | None = "2.6.3",
    to: str | None = None,
    optimization: str | None = "all",
    reader: Reader = Reader.CONNECT,
    is_of_one_store: bool = False,
) -> Assumed:
    return Assumed(
        running=version(running),
        to=version(to),
        optimization=parse_optimization(optimization),
        reader=reader,
        is_of_one_store=is_of_one_store,
    )


def forecast(text: str, told: Assumed | None = None, application: str = APPLICATION) -> Forecast:
    return foretell(supplied(text, application), told or assumed())


GLOBAL: Final = graph("KSTREAM-SOURCE-0000000000", "KTABLE-SOURCE-0000000001", is_global=True)
AGGREGATE: Final = graph("KSTREAM-SOURCE-0000000000", "KSTREAM-AGGREGATE-0000000001")


def told(found: Forecast) -> list[tuple[str | None, str, str]]:
    """Code, severity and certainty of all that is foretold."""
    return [(each.code, each.severity.value, each.certainty.value) for each in found.foretold]


def only(found: Forecast) -> Foretold:
    (each,) = found.foretold
    return each


def subjects(found: Forecast) -> dict[tuple[str, str], str]:
    """Subject and version → how certain it is that the subject comes about."""
    return {(each.subject, str(each.version)): each.certainty.value for each in found.subjects}
