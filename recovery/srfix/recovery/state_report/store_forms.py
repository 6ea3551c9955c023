"""How the rows of each store on disk are laid out, and which stores cannot be opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from srfix.recovery.errors import LibraryMissingError, StateDirectoryError
from srfix.recovery.state import ApplicationState, StoreDirectory, StoreKind
from srfix.recovery.state.stores import StoreFormat, detect_format


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreForm:
    """What a store was taken for."""

    form: StoreFormat | None
    """The form of its rows; None if that could not be told."""
    because: str
    """What shows it, or why it could not be told, in a clause."""
    is_certain: bool = False
    """False if only its name or some of its rows show it."""
    problem: str | None = None
    """Why a store of Kafka Streams cannot be opened, in a clause; None if it can, or was not tried."""


def form_of(store: StoreDirectory) -> StoreForm:
    """The form of a store's rows, told from its databases. A store of the application's own make has none."""
    try:
        detected = detect_format(store)
    except LibraryMissingError:
        return StoreForm(form=None, because="rocksdict is not installed: pip install 'srfix[state]'")
    except StateDirectoryError as error:
        clause = error.message.removesuffix(".")
        return StoreForm(form=None, because=clause, problem=None if store.kind is StoreKind.OTHER else clause)
    return StoreForm(form=detected.format, because=detected.why, is_certain=detected.is_certain)


def forms_of(application: ApplicationState) -> dict[str, StoreForm]:
    """The forms of all stores of an application, by their directories."""
    return {store.path: form_of(store) for task in application.tasks for store in task.stores}


def unreadable_stores(application: ApplicationState, forms: dict[str, StoreForm]) -> Iterator[str]:
    """A line for each store that cannot be opened: which, of which task, and why."""
    for task in application.tasks:
        for store in task.stores:
            problem = forms[store.path].problem
            if problem is not None:
                yield f"store {store.name} of task {task.name}: {problem}"
