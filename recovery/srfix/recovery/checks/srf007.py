"""SRF007, a changelog subject of a store that logs nothing: no topic of that name exists by design. A note.

With `withLoggingDisabled()` and without a reused source topic, `ProcessorContextUtils.changelogFor` has no topic for
the store. Its serdes get the name `<application>-<store>-changelog` nevertheless, in every version (seen on 2.5.0,
2.6.3 and 2.7.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Advice, Check
from srfix.recovery.findings import Finding, Severity

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import StoreFacts

CODE = "SRF007"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One note per role with a live version, if something shows that nothing is restored into the store."""
    if facts.logs_nothing is None:
        return
    store = facts.store
    named = context.command_line.quoted("diagnose", "--source", f"{store.application}/{store.name}=TOPIC")
    for role in facts.roles.values():
        if role.state.live:
            yield facts.finding(
                CODE,
                role.role,
                severity=Severity.NOTE,
                explanation=(
                    f"Store {store.name} of application {store.application} logs nothing: {facts.logs_nothing}. "
                    f"There is no changelog topic either, though the application is alive. So {role.subject} has no "
                    "topic by design: Kafka Streams only hands the name to the store's serdes. Nothing is restored "
                    "into the store, so a restore cannot bring unreadable rows."
                ),
                next_step=f"Nothing to do. If the store does restore from a topic, name that topic: {named}.",
            )


CHECK: Final = Check(
    code=CODE,
    title="A changelog subject of a store that logs nothing",
    severity="note",
    meaning="The subject exists without a topic because logging is off for the store. Nothing is ever restored into it.",
    cause="withLoggingDisabled() with a registry serde, on any version.",
    detection=(
        "Both of these must be true:\n- There is a changelog subject without a topic.\n- The application is alive: "
        "its group has a member, or a committed offset after a topic's start.\nIn addition, one of these must show "
        "that nothing is restored:\n- The state directory (--state-dir) names no topic that the store restores "
        "from.\n- A printed topology (--topology with --application) shows that the store is not the table of one "
        "topic.\nThe store's name alone proves nothing: on Kafka Streams 2.6.3 or older, a table that reuses its "
        "source topic leaves the same subject."
    ),
    remedy="Do nothing. The finding only looks like SRF001.",
    find=check,
    advice=Advice(
        note=lambda _known: "Nothing to repair: a store without logging starts empty, and its subject needs no topic."
    ),
)
