"""Checks before the first write whether a plan can be carried out, without changing anything. `denied_permissions`
sends each kind of write once in a form that every registry refuses for its content, but only after it has checked the
user: 401 and 403 mean no, any other refusal means yes. The requests look like writes in a registry's log, so srfix
sends them only if a person asks for this check.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from srfix.recovery.actions.actions import (
    DeleteVersion,
    Register,
    RestoreCompatibility,
    RestoreMode,
    SetCompatibility,
    SetMode,
    SoftDelete,
)
from srfix.recovery.facts.refusals import WRITABLE_MODES, mode_in_force
from srfix.recovery.registry import Registry
from srfix.recovery.repair.plan_file import Plan, plan_document
from srfix.serde.errors import RegistryError
from srfix.serde.formats.table import as_readers_ask
from srfix.serde.printable import capitalized, counted
from srfix.serde.schemas.errors import ForbiddenError, RegistryUnreachableError, SchemaNotFoundError, UnauthorizedError
from srfix.serde.schemas.models import Schema, same_content
from srfix.serde.subjects.names import Subject

_NO_VERSION = 2**31 - 1
"""The highest possible version number; no subject has it."""
_NO_SCHEMA = Schema(text='{"type":"srfix-asks-whether-it-may-write"}')
_NO_LEVEL = "SRFIX_ASKS_WHETHER_IT_MAY_WRITE"
_NO_MODE = _NO_LEVEL


def preflight(plan: Plan, registry: Registry, journal_path: Path) -> Iterator[str]:
    registry.forget_unknown_ids()
    yield from _room(plan, journal_path)
    yield from _modes(plan, registry)
    yield from _schemas(plan, registry)


def _room(plan: Plan, journal_path: Path) -> Iterator[str]:
    states = sum(len(str(state.versions)) for state in plan.expects.values())
    needed = 65_536 + 2 * len(str(plan_document(plan))) + 2 * len(plan.actions) * (states + 1_024)
    try:
        free = shutil.disk_usage(journal_path.parent).free
    except OSError:
        return  # the attempt to open the journal gives a better message
    if free < needed:
        yield (
            f"The disk of {journal_path.parent} has {counted(free, 'byte')} left; the journal may need {needed:,}. Make "
            "room, or give another place with --journal."
        )


def _modes(plan: Plan, registry: Registry) -> Iterator[str]:
    for subject in sorted(plan.expects):
        whose, mode = mode_in_force(registry, subject, registry.mode(subject))
        if mode is not None and mode not in WRITABLE_MODES:
            yield (
                f"{capitalized(whose)} mode is {mode}, so no registration under {subject} is possible. Let the "
                "registry's owner set the mode to READWRITE for the repair, on the leading registry (a "
                "follower or a linked context accepts no registration)."
            )


def _schemas(plan: Plan, registry: Registry) -> Iterator[str]:
    for action in plan.actions:
        if not isinstance(action, Register):
            continue
        try:
            schema = registry.schema_by_id(action.schema_id, subject=action.subject)
        except SchemaNotFoundError:
            yield (
                f"Schema id {action.schema_id} has disappeared from the registry since the plan was made. If "
                "srfix registered its text now, it would get another id. Plan again."
            )
            continue
        if not same_content(as_readers_ask(schema.schema), as_readers_ask(action.schema)):
            yield (
                f"Schema id {action.schema_id} is another schema in this registry than in the plan. Is it the registry "
                f"that the plan was made for ({plan.registry})?"
            )


def denied_permissions(plan: Plan, registry: Registry) -> Iterator[str]:
    """The kinds of write that this user may not send, by requests that every registry refuses: they change nothing."""
    for subject in sorted(plan.expects):
        kinds = {type(action) for action in plan.actions if action.subject == subject}
        if kinds & {SetCompatibility, RestoreCompatibility}:
            yield from _denied(
                subject, "set the compatibility", lambda s: registry.set_config(s, {"compatibility": _NO_LEVEL})
            )
        if kinds & {SetMode, RestoreMode}:
            yield from _denied(subject, "set the mode", lambda s: registry.set_mode(s, _NO_MODE))
        if Register in kinds:
            yield from _denied(subject, "register schemas", lambda s: registry.register(s, _NO_SCHEMA))
        if kinds & {SoftDelete, DeleteVersion}:
            yield from _denied(subject, "delete versions", lambda s: registry.delete_version(s, _NO_VERSION))


def _denied(subject: Subject, what: str, write: Callable[[Subject], object]) -> Iterator[str]:
    try:
        write(subject)
    except (UnauthorizedError, ForbiddenError) as error:
        yield (
            f"This user may not {what} under {subject} (HTTP {error.status}). Ask for the right to write this subject, "
            "or hand the plan to somebody who has it: srfix plan with --as-shell."
        )
    except RegistryUnreachableError:
        raise
    except RegistryError:
        return  # refused because of its content, so the user may write
