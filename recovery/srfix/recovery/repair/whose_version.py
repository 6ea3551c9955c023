"""Whether a version that stands under a repair's number with its id is still the repair's, told from the journal.

After a hard delete of a subject's highest version its number is given out again (observed on Confluent 7.9.9), and the same
content gets the same id: so what somebody registers then looks like ours. What tells them apart: the time at which the
registry wrote it (8.0 on); else that ours was left soft-deleted and this one is live; else that versions above it are gone.
"""

from __future__ import annotations

from srfix.recovery.actions.actions import Register, added_versions
from srfix.recovery.facts.subject_state import SubjectState, VersionState
from srfix.recovery.repair.journal import RepairState


def as_left(action: Register, ours: VersionState, state: RepairState) -> VersionState:
    """Our version as the repair's last look at its subject saw it."""
    return next((v for v in _last_seen(action, state).versions if v.version == ours.version), ours)


def _last_seen(action: Register, state: RepairState) -> SubjectState:
    """The subject as the repair left it; what it did when it was taken up again says nothing of what was done before."""
    settled = action.step in state.settled
    steps = [a.step for a in state.plan.actions if a.subject == action.subject and a.step in state.after]
    return state.after[max(step for step in steps if (step in state.settled) is settled)]


def why_theirs(
    action: Register, left: VersionState, found: VersionState, now: SubjectState, state: RepairState
) -> str | None:
    """Why a version under our number with our id is not taken for ours, in words; None if it is."""
    version = f"version {found.version} of {action.subject}"
    if action.step in state.undoing and found.deleted:
        return None  # an earlier run of this rollback was ended between its soft and its hard delete
    if found.deleted and not left.deleted and state.stopped:
        return (
            f"somebody soft-deleted {version} since, which this run left live: another run of the plan has gone on with it, "
            "and what it repaired may need it (roll that back by its own journal; srfix verify says whether it stands)"
        )
    if left.deleted and not found.deleted:
        return (
            f"the repair left {version} soft-deleted, and it is live: somebody registered it again since; it is theirs"
        )
    if left.written_ms is not None and found.written_ms is not None:
        if left.written_ms == found.written_ms:
            return None
        return (
            f"somebody wrote {version} since, for the registry's time of it is another one: it was deleted, or registered "
            "again under the same number and id"
        )
    gone = _gone_above(action, left, now, state)
    if not left.deleted and gone:
        return (
            f"{version} may be somebody else's: version {', '.join(map(str, gone))} above it was deleted for good since, so "
            "that its number may have been given out again, and this registry keeps no time by which that could be told"
        )
    return None


def _gone_above(action: Register, left: VersionState, now: SubjectState, state: RepairState) -> list[int]:
    """Versions above ours that the repair saw last, and that others than this rollback have deleted for good."""
    here = {version.version for version in now.versions}
    by_us = {
        (version.version, version.schema_id)
        for other in state.plan.actions
        if isinstance(other, Register) and other.subject == action.subject and other.step in state.undoing
        for version in added_versions(state.before[other.step], state.after[other.step])
    }
    if action.step in state.settled:
        # What was registered once more had been deleted for good: versions that stood above ours.
        again = [
            other for other in state.plan.actions if isinstance(other, Register) and other.step not in state.settled
        ]
        if any(other.subject == action.subject and other.step > action.step for other in again):
            return [left.version + 1]
    return [
        version.version
        for version in _last_seen(action, state).versions
        if version.version > left.version
        and version.version not in here
        and (version.version, version.schema_id) not in by_us
    ]


def untold(left: VersionState) -> str:
    """What could not be told of a version that was taken for ours, for the end of a sentence; empty if nothing."""
    if left.deleted or left.written_ms is not None:
        return ""
    return (
        "; had somebody deleted it for good and registered it again under this number, that could not be told, for this "
        "registry keeps no time of a version"
    )
