"""What a person has acknowledged by a pattern is counted, and is no part of the outcome."""

from __future__ import annotations

from srfix.recovery.commands import CommandLine
from srfix.recovery.diagnosis.document import diagnosis_document
from srfix.recovery.diagnosis.examination import Examination, acknowledge, unused_patterns
from srfix.recovery.findings import Ignored, Severity
from srfix.recovery.repair.planning.plan import make_plan
from srfix.serde.subjects.names import Role, Subject
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, R
from tests.recovery.world import World, clock, value, world_fixture

ORPHAN = Subject("dead-orders-store-changelog-value")


world = world_fixture({"users": 1})
"""One topic, and nothing else."""


def broken(world: World) -> None:
    """SRF001: the phantom subject holds the internal schema and nothing else."""
    world.registry.seed(SOURCE_SUBJECT, W1)
    world.registry.seed(PHANTOM, R)
    world.live(("a", value(1)))


def orphan(world: World) -> None:
    """A dead application's subject, which no group can be given to."""
    world.registry.seed(ORPHAN, R)


def without(world: World, *patterns: str) -> Examination:
    survey = world.survey()
    return acknowledge(world.examine(survey=survey), patterns, survey.subjects(), CommandLine())


class TestAcknowledge:
    def test_without_patterns_nothing_changes(self, world: World) -> None:
        broken(world)
        examination = world.examine()
        assert acknowledge(examination, (), (), CommandLine()) is examination

    def test_a_dead_applications_orphan_is_counted_and_leaves_the_rest_healthy(self, world: World) -> None:
        orphan(world)
        assert world.examine().diagnosis.is_inconclusive
        diagnosis = without(world, "dead-*").diagnosis
        assert not diagnosis.is_inconclusive
        assert not diagnosis.has_findings
        assert diagnosis.ignored == (
            Ignored(
                subjects=(ORPHAN,), pattern="dead-*", what="the subjects of dead-orders-store-changelog", severity=None
            ),
        )

    def test_the_exact_subject_is_enough_where_there_is_no_other(self, world: World) -> None:
        orphan(world)
        assert not without(world, ORPHAN).diagnosis.is_inconclusive

    def test_all_subjects_that_the_registry_has_must_be_acknowledged(self, world: World) -> None:
        orphan(world)
        world.registry.seed("dead-orders-store-changelog-key", R)
        assert without(world, ORPHAN).diagnosis.is_inconclusive
        assert not without(world, ORPHAN, "dead-orders-store-changelog-key").diagnosis.is_inconclusive

    def test_what_concerns_no_subject_alone_cannot_be_acknowledged(self, world: World) -> None:
        orphan(world)
        before = [skip for skip in world.examine().diagnosis.skipped if not skip.subjects]
        after = without(world, "*").diagnosis
        assert list(after.skipped) == before
        assert all(not skip.subjects for skip in after.skipped)

    def test_a_finding_is_ignored_with_its_severity_its_advice_and_its_repair(self, world: World) -> None:
        broken(world)
        examination = without(world, "shop-*")
        diagnosis = examination.diagnosis
        assert not diagnosis.has_findings
        assert not diagnosis.applications
        assert not examination.applications
        ignored = next(each for each in diagnosis.ignored if each.severity is not Severity.NOTE and each.severity)
        assert (ignored.what, ignored.severity, ignored.subjects) == (
            "SRF001 shop/users-store",
            Severity.BROKEN,
            (PHANTOM,),
        )
        plan = make_plan(examination, world.survey(), clock=clock)
        assert plan.actions == ()
        assert all(Role.VALUE not in facts.roles for facts in examination.facts)

    def test_a_pattern_for_another_subject_leaves_it(self, world: World) -> None:
        broken(world)
        orphan(world)
        diagnosis = without(world, "dead-*").diagnosis
        assert [finding.code for finding in diagnosis.findings] == ["SRF001"]
        assert len(diagnosis.applications) == 1

    def test_letter_case_counts_and_a_pattern_fits_whole_subjects(self, world: World) -> None:
        orphan(world)
        assert without(world, "DEAD-*").diagnosis.is_inconclusive
        assert without(world, "dead").diagnosis.is_inconclusive

    def test_the_document_lists_subject_and_pattern(self, world: World) -> None:
        orphan(world)
        document = diagnosis_document(without(world, "dead-*").diagnosis, srfix_version="0", generated_at=clock())
        assert document["ignored"] == [
            {
                "subject": ORPHAN,
                "pattern": "dead-*",
                "what": "the subjects of dead-orders-store-changelog",
                "severity": None,
            }
        ]
        summary = document["summary"]
        assert isinstance(summary, dict)
        assert (summary["ignored"], summary["healthy"]) == (1, True)


class TestUnusedPatterns:
    def test_those_that_fit_nothing_are_named(self, world: World) -> None:
        orphan(world)
        patterns = ("dead-*", "*-value", "gone-*")
        assert unused_patterns(without(world, *patterns), patterns) == ("gone-*",)
