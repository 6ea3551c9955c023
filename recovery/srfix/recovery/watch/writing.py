"""Carries out the allowed writes, one subject at a time, each with a journal like that of `srfix apply`, and continues
after a kill. Every instance that has set a level resets it, for a killed instance another one: so the last write of the
configuration is always a reset, with any number of instances.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from srfix.recovery.actions.actions import Register, restore_config, soft_delete
from srfix.recovery.clock import now
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import held_version, read_subject_state
from srfix.recovery.plans.journal_file import default_journal_path, names_aside
from srfix.recovery.registry import Registry
from srfix.recovery.repair.apply import apply_plan, is_refusal
from srfix.recovery.repair.journal import REPAIR_JOURNALS
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.planning.wanted import Keep
from srfix.recovery.repair.standing import put_back
from srfix.recovery.watch.allowance import AllowedPair, is_relaxed
from srfix.recovery.watch.events import Deferred, Registered, Stopped
from srfix.serde import bounds
from srfix.serde.errors import RegistryError
from srfix.serde.files import is_there
from srfix.serde.schemas.errors import RegistryAnswerError
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Registers, and only where a signed-off plan allows it."""

    pairs: tuple[AllowedPair, ...]
    plan: Plan
    plan_path: Path
    """Its file; the journal beside it shows whether it is being carried out, or was rolled back."""
    journals: Path
    """The directory of this instance's journals; it exists."""
    clock: Callable[[], str] = now
    undisturbed: Callable[[], AbstractContextManager[object]] = field(default=nullcontext)
    """Delays an orderly end while something is written."""

    def journal(self, subject: Subject) -> Path:
        """Where a subject's latest registration is journalled; hashed, as a name may be too long, or no file name."""
        name = hashlib.sha256(subject.encode(errors="surrogatepass")).hexdigest()[:16]
        return default_journal_path(self.journals / name)

    def obstacle(self, registry: Registry) -> str | None:
        """Why the plan does not allow any write now, in words; None if it does."""
        if registry.url != self.plan.registry and not _is_the_same(self.plan, registry):
            return (
                f"the plan was made for {self.plan.registry}, but in the registry at {registry.url} none of its "
                "schemas is under the subject that held it then"
            )
        path = default_journal_path(self.plan_path)
        if not is_there(path):
            return None
        state = REPAIR_JOURNALS.read(path)
        if state.rolling_back or state.rolled_back:
            return f"the signed-off plan was rolled back, as its journal {path} says"
        if not state.finished:
            return f"the signed-off plan is being carried out, or was carried out in part, as its journal {path} says"
        return None

    def undone(self, subject: Subject) -> frozenset[SchemaId]:
        states = [REPAIR_JOURNALS.read(path) for path in self._journals_of(subject) if not _says_nothing(path)]
        return frozenset(schema_id for state in states if state.rolling_back for schema_id in _ids(state.plan))

    def _journals_of(self, subject: Subject) -> Iterator[Path]:
        path = self.journal(subject)
        if is_there(path):
            yield path
        yield from takewhile(is_there, names_aside(path))

    def open_journals(self) -> Iterator[Subject]:
        for subject in dict.fromkeys(pair.subject for pair in self.pairs):
            path = self.journal(subject)
            if not is_there(path) or _says_nothing(path):
                continue
            try:
                state = REPAIR_JOURNALS.read(path)
            except PlanError:
                continue  # damaged: this is reported when something must be written there
            if not state.finished and not state.rolling_back:
                yield subject

    def resume(self, subject: Subject, registry: Registry) -> Iterator[Registered | Deferred | Stopped]:
        plan = REPAIR_JOURNALS.read(self.journal(subject)).plan
        yield from self.carry_out(plan, subject, registry, was_resumed=True)

    def take_over(self, pair: AllowedPair, registry: Registry) -> tuple[str, ...]:
        """Finishes a registration that another instance began under a subject and left. If that instance is alive after
        all, it finds its steps done, or is refused, stops and looks again. Returns the writes, in words, in order."""
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
                    # it may have taken effect, or may still do so: continue when the registry answers
                    raise cause from error
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
            done, aside = put_back(path, registry, clock=self.clock)
        except PlanError:  # in use: another instance that shares the directory is using it
            return Deferred(subject=subject, schema_ids=tuple(ids), why=why.rstrip("."))
        return Stopped(subject=subject, why=why, put_back=done, journal=aside)


def _is_the_same(plan: Plan, registry: Registry) -> bool:
    """True if a schema of the plan is still under the same subject with the same id as when the plan was made."""
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
