"""What the recovery tests stage: schemas, a plan with every kind of action, and death at a wanted point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from srfix.recovery import Finding, Plan, Severity
from srfix.recovery.actions.actions import Action, Register, RestoreCompatibility, SetCompatibility, SoftDelete
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.plans.journal_file import Journal
from srfix.recovery.repair.plan_file import PlannedFinding
from srfix.serde import ChangelogSubject, RegistryClient, Role, Schema, Subject, Topic
from srfix.serde.subjects.names import subject_for
from srfix.serde.wire import SchemaId

APPLICATION = "shop"
STORE = "users-store"
SOURCE = Topic("users")
SOURCE_SUBJECT = subject_for(SOURCE, Role.VALUE)
PHANTOM = ChangelogSubject(application=APPLICATION, store=STORE)("", Role.VALUE)
PHANTOM_KEY = ChangelogSubject(application=APPLICATION, store=STORE)("", Role.KEY)

W1 = '{"type":"record","name":"User","fields":[{"name":"userId","type":"long"}]}'
W2 = (
    '{"type":"record","name":"User","fields":[{"name":"userId","type":"long"},'
    '{"name":"tier","type":["null","string"],"default":null}]}'
)
R = '{"type":"record","name":"KsqlDataSourceSchema","fields":[{"name":"USERID","type":["null","long"],"default":null}]}'
FINDING = Finding(
    code="SRF001",
    severity=Severity.BROKEN,
    application="app",
    store="store",
    role=Role.VALUE,
    subject=Subject("app-store-changelog-value"),
    source=None,
    explanation="",
    next="",
    repairable=True,
)
"""One to replace what matters in."""


def graph(
    source: str, processor: str, *, topics: str = "users", stores: str = "users-store", is_global: bool = False
) -> str:
    """What `Topology.describe()` prints of a source and the processor behind it."""
    what = " for global store (will not generate tasks)" if is_global else ""
    return (
        f"Topologies:\n   Sub-topology: 0{what}\n    Source: {source} (topics: [{topics}])\n      --> {processor}\n"
        f"    Processor: {processor} (stores: [{stores}])\n      --> none\n      <-- {source}\n"
    )


TABLE = graph("KSTREAM-SOURCE-0000000000", "KTABLE-SOURCE-0000000001")
"""The store is a table of the topic."""

STEPS = 6
"""Actions in the plan of `plan_of`: NONE, register, soft-delete, register, soft-delete, put back."""


def clock() -> str:
    return "2020-06-16T03:00:00+00:00"


def plan_of(client: RegistryClient, subject: str = PHANTOM) -> Plan:
    """NONE, then W1 and W2 registered and soft-deleted, then the configuration put back."""
    phantom = Subject(subject)
    state = read_subject_state(client, phantom)
    actions: list[Action] = [SetCompatibility(step=1, subject=phantom, level="NONE", previous=state.config)]
    for number, text in enumerate((W1, W2)):
        schema_id = SchemaId(number + 1)
        actions.append(
            Register(
                step=2 * number + 2,
                subject=phantom,
                schema_id=schema_id,
                schema=Schema(text=text),
                holders=(SOURCE_SUBJECT,),
            )
        )
        actions.append(SoftDelete(step=2 * number + 3, subject=phantom, schema_id=schema_id))
    actions.append(RestoreCompatibility(step=STEPS, subject=phantom, previous=state.config))
    return Plan(
        registry=client.url,
        bootstrap_servers=None,
        created_at=clock(),
        srfix="0",
        findings=(
            PlannedFinding(
                code="SRF001",
                application=APPLICATION,
                store=STORE,
                role=Role.VALUE,
                subject=phantom,
                source_topic=SOURCE,
                schema_ids=(SchemaId(1), SchemaId(2)),
                planned_ids=(SchemaId(1), SchemaId(2)),
            ),
        ),
        actions=tuple(actions),
        expects={phantom: state},
        price=("one more version each",),
        playbook=("do not wipe",),
    )


class Killed(BaseException):
    """The process dies here. No handler of ours may catch it."""


WRITES = ("register", "register_with_id", "set_config", "delete_config", "set_mode", "delete_mode", "delete_version")
"""The methods of the client that write; each sends one request."""


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, moment: str, number: int) -> Iterator[None]:
    """Dies before, after or in the middle of journal line `number`, or before or after write `number`, from 1.

    :param moment: `"before line"`, `"within line"`, `"after line"`, `"before write"` or `"after write"`.
    """
    when, _, what = moment.partition(" ")
    seen = 0

    def dies() -> bool:
        nonlocal seen
        seen += 1
        return seen == number

    def around(call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*args: object, **kwargs: object) -> object:
            mine = dies()
            if mine and when == "before":
                raise Killed
            result = call(*args, **kwargs)
            if mine:
                raise Killed
            return result

        return wrapped

    with monkeypatch.context() as patch:
        if what == "write":
            for name in WRITES:
                patch.setattr(RegistryClient, name, around(getattr(RegistryClient, name)))
        else:
            patch.setattr(Journal, "write", around(Journal.write))
        with pytest.raises(Killed):
            yield


def cut_last_line(journal: bytes) -> bytes:
    """What a crash in the middle of the last line leaves."""
    body = journal.removesuffix(b"\n")
    start = body.rfind(b"\n") + 1
    return body[: start + (len(body) - start) // 2]
