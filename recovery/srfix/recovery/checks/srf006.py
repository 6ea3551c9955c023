"""SRF006, the incident in a global store: ids of its topic are not registered under the phantom subject.

A global store has no changelog in any version and configuration: `storeToChangelogTopic` names its source topic always,
and every start without state loads the whole topic, whatever the group has committed (`GlobalStateManagerImpl`). Before
2.7.0 its serdes get the phantom name nevertheless (KAFKA-10179, pull request 8902).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks import srf001
from srfix.recovery.checks.interface import Check
from srfix.recovery.checks.missing import findings_of, is_of_global_store
from srfix.recovery.findings import Finding
from srfix.recovery.forecasts import Foretold

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import StoreFacts
    from srfix.recovery.guard.judged import Prospect

CODE = "SRF006"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    if is_of_global_store(facts, context):
        yield from findings_of(CODE, facts, context)


def foretell(prospect: Prospect) -> Iterator[Foretold]:
    if prospect.judged.store.is_global:
        yield from srf001.foretell_as(CODE, prospect)


CHECK: Final = Check(
    code=CODE,
    title="A global table on an affected version cannot be read: its schema ids are not under the phantom subject",
    severity="broken",
    meaning="A global store has no changelog. Every start without state, also the very first one, loads the whole "
    "source topic. topology.optimization and committed offsets make no difference. Before 2.7.0, Kafka Streams hands "
    "a phantom name to the store's serdes. So a reader that looks up a version under the subject fails on the loaded "
    "rows, as with SRF001.",
    cause="globalTable or addGlobalStore with a registry serde on Kafka Streams 2.6.3 or older (KAFKA-10179).",
    detection=(
        "srfix makes the checks of SRF001, but counts every record of the topic, not only those below the committed "
        "offsets. A state directory (global/) or a "
        "topology says that the store is global. Or srfix concludes this, if the group has committed offsets of other "
        "topics, but none of this topic. The finding says how srfix knows."
    ),
    remedy="As for SRF001: srfix plan, srfix apply, srfix verify. Then upgrade to 2.7.0 or later, and read SRF004, "
    "SRF016 and SRF017 first. For a global store it does not help to stop the reuse of the source topic "
    "(topology.optimization).",
    find=check,
    foretell=foretell,
    without_source=lambda finding, which_is_true: replace(finding, next=which_is_true),
    repair=srf001.repair_of(CODE, also="the same as SRF001, for global stores only", of_global_stores=True),
    advice=srf001.ADVICE,
)
