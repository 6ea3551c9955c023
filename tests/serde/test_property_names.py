"""Which names of properties a message may show."""

from __future__ import annotations

import pytest

from srfix.serde.properties.registry import _KNOWN
from srfix.serde.property_names import is_known, shown
from tests.cli.kept_demo import srfix


def test_every_property_that_a_registry_takes_is_shown() -> None:
    assert all(is_known(name) and shown(name) == name for name in _KNOWN)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["http.answer.deadline.ms"])
def test_a_bound_that_is_no_number_is_named(name: str) -> None:
    done = srfix("subjects", "--registry", "http://127.0.0.1:1", "-R", f"{name}=x")
    assert done.returncode == 2
    assert f"The registry property {name} must be a" in done.stderr
