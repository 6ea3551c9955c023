"""State directories that were given and have nothing of what was looked at: most likely the wrong ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from srfix.cli.options.options import Selection
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.supplied import Supplied
from srfix.recovery.ids_in_words import enumerated


def strangers(supplied: Supplied, selection: Selection, *, examined: Collection[SuspectStore]) -> Iterator[str]:
    """A line for the state directories, if there are any, and none is of an application that was named or examined, or if
    those that are have no store."""
    wanted = {selection.application} if selection.application else {store.application for store in examined}
    if not supplied.state or not wanted:
        return
    prefixes = {store.prefix for store in supplied.stores_on_disk()}
    paths = enumerated(sorted({state.path for state in supplied.state}))
    named = enumerated(sorted(wanted))
    own = [state for state in supplied.state if state.application in wanted]
    if not own and not wanted & prefixes:
        others = enumerated(sorted({state.application for state in supplied.state}))
        yield (
            f"--state-dir {paths} holds nothing of the application {named}, only of {others}: it tells nothing here. Give "
            "that application's state.dir, from the machine that runs it."
        )
    elif own and not any(state.stores for state in own):
        yield (
            f"--state-dir {paths} holds the folder of the application {named}, but no store in it: it tells nothing here. "
            "It was wiped, or its stores are kept in memory, or on another machine."
        )
