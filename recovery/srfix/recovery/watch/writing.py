"""Carries out what is allowed, one subject at a time, each with a journal of its own; takes up what a kill left.

A journal is that of `srfix apply`, and `srfix rollback` undoes it. The one at a subject's path is of its latest registration;
earlier ones stand beside it, numbered. Every instance that has set a level puts it back: at the plan's end, on the way out
of a plan that stopped, or when it is started again. So whoever writes the configuration last has put it back, however many
instances there are. What one that was killed has left is put back by another after a few looks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from srfix.recovery.actions.actions import Register, restore_config, soft_delete
from srfix.recovery.clock import now
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import held_version, read_subject_state
from srfix.recovery.plans.journal_file import default_journal_path
from srfix.recovery.registry import Registry
from srfix.recovery.repair.apply import apply_plan, is_refusal
from srfix.recovery.repair.journal import REPAIR_JOURNALS
from srfix.recovery.repair.left_open import put_back
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.planning.wanted import Keep
from srfix.recovery.watch.allowance import AllowedPair, is_relaxed
from srfix.recovery.watch.events import Deferred, Registered, Stopped
from srfix.serde import bounds
from srfix.serde.errors import RegistryError
from srfix.serde.files import is_there
from srfix.serde.schemas.errors import RegistryAnswerError
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId

_SUFFIX: Final = ".journal.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Registers, and only where a signed-off plan allows it."""

    pairs: tuple[AllowedPair, ...]
    plan: Plan
    plan_path: Path
    """Its file: the journal beside it tells whether it is being carried out, or was rolled back."""
    journals: Path
    """The directory of this instance's journals; it exists."""
    clock: Callable[[], str] = now
    undisturbed: Callable[[], AbstractContextManager[object]] = field(default=nullcontext)
    """What holds off an orderly end while something is written."""

    def journal(self, subject: Subject) -> Path:
        """Where the journal of a subject's latest registration is; a name can be too long, or no file's, so it is hashed."""
        return self.journals / (hashlib.sha256(subject.encode(errors="surrogatepass")).hexdigest()[:16] + _SUFFIX)

    def obstacle(self, registry: Registry) -> str | None:
        """Why nothing may be written on the strength of the plan as things stand, in words; None if it may."""
        if registry.url != self.plan.registry and not _is_the_same(self.plan, registry):
            return f"the plan was made for {self.plan.registry}, and none of its schemas is at {registry.url} where it was then"
        path = default_journal_path(self.plan_path)
        if not is_there(path):
            return None
        state = REPAIR_JOURNALS.read(path)
        if state.rolling_back or state.rolled_back:
            return f"the signed-off plan was rolled back, as its journal {path} says"
        if not state.finished:
            return f"the signed-off plan is carried out right now, or in part, as its journal {path} says"
        return None

    def undone(self, subject: Subject) -> frozenset[SchemaId]:
        states = [REPAIR_JOURNALS.read(path) for path in self._journals_of(subject) if not _says_nothing(path)]
        return frozenset(schema_id for state in states if state.rolling_back for schema_id in _ids(state.plan))

    def _journals_of(self, subject: Subject) -> Iterator[Path]:
        path = self.journal(subject)
        if is_there(path):
            yield path
        number = 1
        while is_there(aside := path.with_name(f"{path.name}.{number}")):
            yield aside
            number += 1

    def open_journals(self) -> Iterator[Subject]:
        """The subjects whose registration was begun and is not over."""
        for subject in dict.fromkeys(pair.subject for pair in self.pairs):
            path = self.journal(subject)
            if not is_there(path) or _says_nothing(path):
                continue
            try:
                state = REPAIR_JOURNALS.read(path)
            except PlanError:
                continue  # damaged: it is said when something is to be written there
            if not state.finished and not state.rolling_back:
                yield subject

    def resume(self, subject: Subject, registry: Registry) -> Iterator[Registered | Deferred | Stopped]:
        """Goes on with what an earlier run had begun under a subject."""
        plan = REPAIR_JOURNALS.read(self.journal(subject)).plan
        yield from self.carry_out(plan, subject, registry, was_resumed=True)

    def take_over(self, pair: AllowedPair, registry: Registry) -> tuple[str, ...]:
        """Ends what another instance began under a subject and left, as the signed-off plan says of it: the versions that it
        registered are soft-deleted, where the plan leaves none live, and the configuration is put back. Killed at any instant,
        the next call goes on. One that lives after all finds its steps done, or is refused, stops and looks again. Gives what
        was written, in words, in order.
        """
        with self.undisturbed():
            state = read_subject_state(registry, pair.subject)
            if not is_relaxed(pair, state.config):
                return ()
            done = []
            expected = {version.version for version in self.plan.expects[pair.subject].versions}
            copied = {v.schema_id for v in read_subject_state(registry, pair.source_subject).versions}
            for version in state.live if pair.keep is Keep.SOFT_DELETED else ():
                if version.version not in expected and version.schema_id in copied:
                    soft_delete(registry, pair.subject, version.version)
                    done.append(f"version {version.version} (schema id {version.schema_id}) soft-deleted")
            restore_config(registry, pair.subject, pair.config)
            return (*done, "the configuration as it was when the plan was signed off")

    def carry_out(
        self, plan: Plan, subject: Subject, registry: Registry, *, was_resumed: bool = False
    ) -> Iterator[Registered | Deferred | Stopped]:
        path = self.journal(subject)
        ids = _ids(plan)
        with self.undisturbed():
            try:
                for _event in apply_plan(plan, registry, path, clock=self.clock):
                    pass
            except PlanError as error:
                cause = error.__cause__
                if isinstance(cause, RegistryError) and not is_refusal(cause):
                    raise cause from error  # it may have taken effect, or may yet: go on when the registry answers
                yield self._stopped(subject, ids, str(error), registry)
                return
            except RegistryAnswerError as error:
                if not is_refusal(error):
                    raise
                yield self._stopped(subject, ids, str(error), registry)
                return
        lost = [
            a.schema_id
            for a in plan.actions
            if isinstance(a, Register) and held_version(registry, subject, a.schema) is None
        ]
        if lost:
            why = (
                f"Schema ids {', '.join(map(str, lost))} were registered under {subject}, but a look-up by content "
                "does not find them there."
            )
            yield Stopped(subject=subject, why=why, put_back=(), journal=path)
        else:
            yield Registered(subject=subject, schema_ids=ids, journal=path, was_resumed=was_resumed)

    def _stopped(self, subject: Subject, ids: Sequence[SchemaId], why: str, registry: Registry) -> Deferred | Stopped:
        path = self.journal(subject)
        if not is_there(path):  # refused before the first line
            return Deferred(subject=subject, schema_ids=tuple(ids), why=why.rstrip("."))
        try:
            closed = put_back(path, registry, clock=self.clock)
        except PlanError:  # in use: another instance that shares the directory is at it
            return Deferred(subject=subject, schema_ids=tuple(ids), why=why.rstrip("."))
        return Stopped(subject=subject, why=why, put_back=closed.done, journal=closed.aside)


def _is_the_same(plan: Plan, registry: Registry) -> bool:
    """True if a schema of the plan stands where it stood when the plan was made, under the same id."""
    registrations = [action for action in plan.actions if isinstance(action, Register)]
    held = (
        (held_version(registry, holder, registration.schema), registration)
        for registration in registrations
        for holder in registration.holders
    )
    return any(version is not None and version.schema_id == registration.schema_id for version, registration in held)


def _ids(plan: Plan) -> tuple[SchemaId, ...]:
    return tuple(sorted({schema_id for finding in plan.findings for schema_id in finding.planned_ids}))


def _says_nothing(path: Path) -> bool:
    """True if it holds no whole line: killed before anything was begun. The next registration sets it aside."""
    try:
        return b"\n" not in path.read_bytes()[: bounds.MOST_JOURNAL_BYTES]
    except OSError:
        return False
