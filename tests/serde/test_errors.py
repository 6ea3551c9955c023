"""Every error travels between processes: pools and Spark tasks pickle what they raise."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
from collections.abc import Iterator

import pytest

import srfix.serde
from srfix.recovery import errors as recovery_errors
from srfix.serde import RegistryError, SrfixError, errors
from srfix.serde.schemas.errors import ERRORS_BY_CODE, RegistryProtocolError, RegistryUnreachableError


def tree(kind: type[SrfixError] = SrfixError) -> Iterator[type[SrfixError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from tree(child)


for _room in ("serde", "recovery", "cli", "fixtures"):
    for _module in pkgutil.walk_packages(importlib.import_module(f"srfix.{_room}").__path__, f"srfix.{_room}."):
        if not _module.name.endswith((".__main__", ".streams.driver")) and "._pyspark." not in _module.name:  # they run
            importlib.import_module(_module.name)
KINDS = sorted(set(tree()), key=lambda kind: (kind.__module__, kind.__qualname__))


class TestTree:
    def test_the_front_door_shows_every_error_of_the_errors_module(self) -> None:
        defined = {kind.__name__ for kind in KINDS if kind.__module__ == errors.__name__}
        assert defined == {name for name in dir(srfix.serde) if name.endswith("Error") and name != "OnError"}

    def test_the_errors_of_recovery_stand_in_its_errors_module(self) -> None:
        of_recovery = {kind.__module__ for kind in KINDS if kind.__module__.startswith("srfix.recovery.")}
        assert of_recovery == {recovery_errors.__name__}

    @pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
    def test_every_error_is_called_one_says_what_it_means_and_is_in_the_tree(self, kind: type[SrfixError]) -> None:
        assert kind.__name__.endswith("Error")
        assert kind.__doc__
        drawn = (errors.__doc__ or "") + (importlib.import_module(kind.__module__).__doc__ or "")
        assert kind.__name__ in drawn


class TestPickle:
    @pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
    def test_every_error_survives_with_its_message_and_attributes(self, kind: type[SrfixError]) -> None:
        error = kind.__new__(kind)
        error.args = ("what, where, what next",)
        vars(error).update(schema_id=7, subject="a-value", reasons=("a", "b"))
        for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(other) is kind
            assert (str(other), other.message, other.args) == (str(error), error.message, error.args)
            assert vars(other) == vars(error)

    def test_registry_errors_survive_as_they_were_raised(self) -> None:
        errors: list[RegistryError] = [
            kind(404, 40401, "no", "http://a/subjects", method="GET", earlier_attempt_lost=True)
            for kind in set(ERRORS_BY_CODE.values())
        ]
        errors.append(RegistryUnreachableError([("http://a", "refused")], outcome_unknown=True))
        errors.append(RegistryProtocolError(status=200, content_type="", beginning="<", url="http://a", problem="x"))
        for error in errors:
            other = pickle.loads(pickle.dumps(error))
            assert (type(other), str(other), vars(other)) == (type(error), str(error), vars(error))
