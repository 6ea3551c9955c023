"""What to do before it happens, in sentences, with the commands. The guard itself writes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.guard.judged import JudgedStore
from srfix.serde.subjects.names import Role


def plan_of_phantom(judged: JudgedStore, *, is_known: bool) -> Iterator[str]:
    """The registrations under the phantom subject."""
    if not is_known:
        yield "Run guard with --bootstrap-servers and --registry: then it says which ids are missing."
    given = judged.assumed.given
    plan = given.quoted("plan", *_of_it(judged), "-o", "plan.json")
    yield f"Once the application has run, and before a restore: {plan}, read it, then {given.quoted('apply', 'plan.json')}."


def plan_of_source(judged: JudgedStore, *, also: str) -> Iterator[str]:
    """The registrations under the source topic's own subject, which the new version asks."""
    given = judged.assumed.given
    words = (*_of_it(judged), "--streams-version", str(judged.assumed.to), "--also", also, "-o", "plan.json")
    yield f"Before the upgrade: {given.quoted('plan', *words)}, read it, then {given.quoted('apply', 'plan.json')}."
    yield "Or delete the state directory with the upgrade, not before it. Where SRF016 is told as breaking, that does not help."


def plan_of_schema(judged: JudgedStore, *, origin: str, subject: str, role: Role, also: str) -> Iterator[str]:
    """The new schema under the phantom subject, before a record carries it."""
    yield f"Register {origin} under {subject}, and let no producer write with it yet."
    words = (*_of_it(judged), "--also", also, "-o", "plan.json")
    given = judged.assumed.given
    steps = f"{given.quoted('plan', *words)}, read it, then {given.quoted('apply', 'plan.json')}"
    yield f"Register it under {judged.store.changelog_subject(role)} too: {steps}."
    yield "Then let the producers write with it."


def _of_it(judged: JudgedStore) -> tuple[str, ...]:
    store = judged.store
    words = ("--application", store.application, "--store", store.name)
    return words if store.topic is None else (*words, "--source", f"{store.application}/{store.name}={store.topic}")
