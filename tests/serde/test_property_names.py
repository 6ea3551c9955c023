"""Which names of properties a message may show."""

from __future__ import annotations

import pytest

from srfix.serde.properties.registry import _KNOWN
from srfix.serde.property_names import is_known, shown
from tests.cli.kept_demo import srfix


@pytest.mark.parametrize("name", _KNOWN)
def test_every_property_that_a_registry_takes_is_shown(name: str) -> None:
    assert is_known(name)
    assert shown(name) == name


@pytest.mark.parametrize("name", ["http.answer.max.bytes", "http.answer.deadline.ms", "missing.cache.size"])
def test_a_bound_that_is_no_number_is_named(name: str) -> None:
    done = srfix("subjects", "--registry", "http://127.0.0.1:1", "-R", f"{name}=x")
    assert done.returncode == 2
    assert f"The registry property {name} must be a" in done.stderr
