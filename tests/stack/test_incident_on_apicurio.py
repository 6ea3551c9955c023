"""Cases 1 and 4 on a real registry of another maker: Apicurio 3.3.3, its global level set to BACKWARD first.

They are the cases themselves: what they say of the registry must hold here too. What a schema that a subject lacks is
called in the application's log is each registry's own word.
"""

from __future__ import annotations

import pytest

from parts.registries.apicurio import ApicurioRegistry
from tests.stack.test_case_01_incident import test_a_store_that_cannot_be_read_after_its_state_was_lost_is_repaired
from tests.stack.test_case_04_refused import (
    test_a_repair_that_is_refused_in_the_middle_is_undone_without_a_trace_or_finished,
)

__all__ = [
    "test_a_repair_that_is_refused_in_the_middle_is_undone_without_a_trace_or_finished",
    "test_a_store_that_cannot_be_read_after_its_state_was_lost_is_repaired",
]

pytestmark = pytest.mark.stack


@pytest.fixture
def registry(apicurio: ApicurioRegistry) -> ApicurioRegistry:
    """Apicurio instead of the fixture registry; empty."""
    apicurio.clear()
    return apicurio


@pytest.fixture
def missing() -> str:
    return "The given schema does not match any schema under the subject {subject}"
