"""Cases 1 and 4 on a real registry of another maker: Apicurio 3.3.3, its global level set to BACKWARD first.

They are the cases themselves: what they say of the registry must hold here too. What a schema that a subject lacks is
called in the application's log is each registry's own word.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from parts.registries.apicurio import ApicurioRegistry
from srfix.fixtures.broker.kraft import KraftBroker
from tests.stack.scene import Scene, new_scene, without_what_is_made
from tests.stack.test_case_01_incident import test_a_store_that_cannot_be_read_after_its_state_was_lost_is_repaired
from tests.stack.test_case_04_refused import (
    test_a_repair_that_is_refused_in_the_middle_is_undone_without_a_trace_or_finished,
)

__all__ = [
    "test_a_repair_that_is_refused_in_the_middle_is_undone_without_a_trace_or_finished",
    "test_a_store_that_cannot_be_read_after_its_state_was_lost_is_repaired",
]

pytestmark = pytest.mark.stack

MISSING: Final = "The given schema does not match any schema under the subject {subject}"


@pytest.fixture
def registry(apicurio: ApicurioRegistry) -> ApicurioRegistry:
    """Apicurio instead of the fixture registry; empty."""
    apicurio.clear()
    return apicurio


@pytest.fixture
def scene(broker: KraftBroker, registry: ApicurioRegistry, tmp_path: Path) -> Iterator[Scene]:
    """An application that has met nothing yet, and whose topics go with it."""
    with without_what_is_made(broker):
        yield new_scene(broker, registry, tmp_path, missing=MISSING)
