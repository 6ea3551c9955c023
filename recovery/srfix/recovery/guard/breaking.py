"""What breaks in a store: on the next restore, and on the change to another version of Kafka Streams."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.models import Certainty, Foretold, Moment, weakest
from srfix.recovery.guard.srf001 import phantom_lacks
from srfix.recovery.guard.srf004 import source_lacks
from srfix.recovery.guard.srf005 import misses_keys
from srfix.recovery.guard.srf015 import refuses_puts
from srfix.recovery.guard.srf016 import source_refuses
from srfix.recovery.guard.srf018 import loses_rows
from srfix.recovery.guard.srf019 import untransformed
from srfix.recovery.guard.state_format import cannot_open
from srfix.serde.subjects.names import Role


def on_restore(judged: JudgedStore) -> Iterator[Foretold]:
    """What the next restore and the next put bring about, under the version that runs."""
    asks = judged.asks_the_phantom(judged.running)
    for role in _roles(judged):
        yield from phantom_lacks(judged, role, asks, Moment.RESTORE)
        yield from refuses_puts(judged, role, judged.running, Moment.PUT)
    yield from misses_keys(judged)
    yield from loses_rows(judged)
    yield from untransformed(judged)


def on_upgrade(judged: JudgedStore) -> Iterator[Foretold]:
    """What the change of `--to` brings about; nothing without one."""
    target = judged.assumed.to
    if target is None:
        return
    crosses = weakest((judged.asks_the_phantom(judged.running), judged.asks_the_source(target)))
    back = weakest((judged.asks_the_source(judged.running), judged.asks_the_phantom(target)))
    for role in _roles(judged):
        if crosses is not Certainty.EXCLUDED:
            yield from source_lacks(judged, role, crosses)
            if judged.assumed.no_auto_register:  # then nothing is registered that a subject could refuse, or take
                yield from refuses_puts(judged, role, target, Moment.UPGRADE)
            else:
                yield from source_refuses(judged, role, crosses)
        if back is not Certainty.EXCLUDED:
            yield from phantom_lacks(judged, role, back, Moment.UPGRADE)
    yield from cannot_open(judged, target)


def _roles(judged: JudgedStore) -> Iterator[Role]:
    """Values, and keys where the registry shows that they are a registry's. Offline nothing tells of keys."""
    for role in (Role.VALUE, Role.KEY):
        known = judged.known(role)
        if (known is None and role is Role.VALUE) or (known is not None and known.asks_a_registry):
            yield role
