"""How the rows of each store on disk are laid out, and which stores cannot be opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from srfix.recovery.errors import LibraryMissingError, NotPermittedError, StateDirectoryError
from srfix.recovery.state.directory import ApplicationState, StoreDirectory, StoreKind
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.stores.detection import detect_format


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
    is_shut: bool = False
    """True if that is because this user may not read it."""


def form_of(store: StoreDirectory) -> StoreForm:
    """The form of a store's rows, told from its databases. A store of the application's own make has none."""
    try:
        detected = detect_format(store)
    except LibraryMissingError:
        return StoreForm(form=None, because="rocksdict is not installed: pip install 'srfix[state]'")
    except NotPermittedError as error:
        return StoreForm(form=None, because=error.message, problem=error.message, is_shut=True)
    except StateDirectoryError as error:
        clause = error.message.removesuffix(".")
        return StoreForm(form=None, because=clause, problem=None if store.kind is StoreKind.OTHER else clause)
    return StoreForm(form=detected.format, because=detected.why, is_certain=detected.is_certain)


def forms_of(application: ApplicationState) -> dict[str, StoreForm]:
    """The forms of all stores of an application, by their directories."""
    return {store.path: form_of(store) for task in application.tasks for store in task.stores}


def unreadable_stores(application: ApplicationState, forms: dict[str, StoreForm]) -> Iterator[tuple[str, StoreForm]]:
    """For each store that cannot be opened a line, which, of which task, and why; and its form."""
    for task in application.tasks:
        for store in task.stores:
            form = forms[store.path]
            if form.problem is not None:
                yield f"store {store.name} of task {task.name}: {form.problem}", form
