"""What stands under a subject, and how many requests it takes to know."""

from __future__ import annotations

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.facts.subject_state import SubjectState, VersionState, read_subject_state
from srfix.serde import RegistryClient, Subject
from srfix.serde.wire import SchemaId
from tests.recovery.staging import W1, W2


def read(registry: FixtureRegistry, subject: str) -> SubjectState:
    registry.forget_requests()
    with RegistryClient(registry.url) as fresh:
        return read_subject_state(fresh, Subject(subject))


class TestReadSubjectState:
    @pytest.mark.parametrize(
        ("deleted", "requests"),
        [((), 3), ((False,), 4), ((True,), 6), ((False, False), 6), ((True, False), 6), ((True, True), 6)],
        ids=str,
    )
    def test_versions_soft_deleted_or_not_by_as_few_requests_as_it_takes(
        self, registry: FixtureRegistry, deleted: tuple[bool, ...], requests: int
    ) -> None:
        for text, gone in zip((W1, W2), deleted, strict=False):
            registry.seed("some-value", text, deleted=gone)
        assert read(registry, "some-value") == SubjectState(
            subject=Subject("some-value"),
            versions=tuple(
                VersionState(version=number, schema_id=SchemaId(number), deleted=gone)
                for number, gone in enumerate(deleted, start=1)
            ),
            config=None,
            mode=None,
        )
        assert len(registry.requests) == requests
