"""Hints on the reader and the Streams version: what they rest on, and when they decide."""

from __future__ import annotations

import base64

import pytest

from srfix.recovery import Reader, StreamsVersion
from srfix.recovery.advice.hints import (
    GenerationHint,
    ReaderHint,
    _of_ksqldb,
    decisive_version,
    from_commit_metadata,
    from_subscriptions,
    from_traces,
    gather_hints,
    version_range,
)
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.findings import Weight
from srfix.recovery.state.directory import Traces
from srfix.serde import Topic
from tests.recovery.staging import APPLICATION, PHANTOM, SOURCE, SOURCE_SUBJECT, STORE
from tests.recovery.world import world_of

MAGIC_1 = base64.b64encode(b"\x01" + bytes(8)).decode()
MAGIC_2 = base64.b64encode(b"\x02" + bytes(12)).decode()
NONE = Traces(
    has_process_metadata=False, has_task_locks=False, has_position_files=False, has_offsets_column_families=False
)


def traces(**seen: bool) -> Traces:
    return Traces(**{name: seen.get(name, False) for name in NONE.__slots__})


class TestFromCommitMetadata:
    @pytest.mark.parametrize(
        ("texts", "says", "weight", "decided"),
        [
            ([""], "up to 2.3", Weight.WEAK, None),
            ([MAGIC_1], "2.4 to 3.2", Weight.STRONG, None),  # may be affected or not
            ([MAGIC_2], "3.3 or later", Weight.STRONG, StreamsVersion(3, 3)),
            ([MAGIC_1, MAGIC_2, ""], "3.3 or later", Weight.STRONG, StreamsVersion(3, 3)),
            (["", MAGIC_1], "2.4 to 3.2", Weight.STRONG, None),
            ([MAGIC_1 + "\ufffd=x"], "2.4 to 3.2", Weight.STRONG, None),
            ([MAGIC_1 + MAGIC_2], "2.4 to 3.2", Weight.STRONG, None),
        ],
    )
    def test_the_newest_that_was_committed_counts(
        self, texts: list[str], says: str, weight: Weight, decided: StreamsVersion | None
    ) -> None:
        hint = from_commit_metadata(texts)
        assert hint is not None
        assert (str(hint), hint.weight, decisive_version([hint])) == (says, weight, decided)

    @pytest.mark.parametrize("texts", [[], ["hello"], ["\udc80"], ["AA=="], ["AQ=="], ["AQAA"]])
    def test_foreign_metadata_and_none_at_all_say_nothing(self, texts: list[str]) -> None:
        assert from_commit_metadata(texts) is None


class TestFromSubscriptions:
    @pytest.mark.parametrize(
        ("versions", "says", "decided"),
        [
            ([6], "2.5", StreamsVersion(2, 5)),
            ([8, 8], "2.6 to 2.7", None),
            ([9], "2.8", StreamsVersion(2, 8)),
            ([8, 9], "2.6 to 2.8", None),  # in the midst of an upgrade
            ([11, 10], "3.0 or later", StreamsVersion(3, 0)),
            ([14], "3.2 or later", StreamsVersion(3, 2)),
        ],
    )
    def test_members_say_which_version_they_run(
        self, versions: list[int], says: str, decided: StreamsVersion | None
    ) -> None:
        hint = from_subscriptions(versions)
        assert hint is not None
        assert (str(hint), decisive_version([hint])) == (says, decided)

    @pytest.mark.parametrize("versions", [[], [2]])
    def test_none_and_foreign_ones_say_nothing(self, versions: list[int]) -> None:
        assert from_subscriptions(versions) is None


class TestDecisiveVersion:
    @pytest.mark.parametrize(
        ("seen", "version"),
        [
            ({"has_position_files": True}, StreamsVersion(3, 2)),
            ({"has_task_locks": True, "has_position_files": True}, StreamsVersion(3, 2)),  # locks are left over
            ({"has_offsets_column_families": True}, StreamsVersion(4, 3)),
            ({"has_task_locks": True, "has_process_metadata": True}, None),  # 2.6 to 2.8 may be affected or not
        ],
    )
    def test_traces_of_later_versions_decide(self, seen: dict[str, bool], version: StreamsVersion | None) -> None:
        assert decisive_version(list(from_traces(traces(**seen), path="D"))) == version
        assert version is None or version.asks_the_source_subject

    def test_an_upper_bound_below_the_fix_decides(self) -> None:
        hint = GenerationHint(oldest=None, newest=StreamsVersion(2, 6), detail="d")
        assert decisive_version([hint]) == StreamsVersion(2, 6)


class TestVersionRange:
    def test_weak_hints_play_no_part_and_lower_bounds_win(self) -> None:
        weak = GenerationHint(oldest=None, newest=StreamsVersion(2, 3), detail="d", weight=Weight.WEAK)
        old = GenerationHint(oldest=None, newest=StreamsVersion(2, 8), detail="left over")
        new = GenerationHint(oldest=StreamsVersion(3, 2), newest=StreamsVersion(4, 2), detail="d")
        assert version_range([weak]) == (None, None)
        assert version_range([old]) == (None, StreamsVersion(2, 8))
        assert version_range([old, new]) == (StreamsVersion(3, 2), None)
        assert version_range([new]) == (StreamsVersion(3, 2), StreamsVersion(4, 2))


class TestOfKsqldb:
    @pytest.mark.parametrize(
        ("version", "reader"),
        [
            ("0.10.1", "connect"),
            ("0.10.2", "connect"),
            ("0.11.0", "dual"),
            ("0.29.0", "dual"),
            ("5.5.1", "connect"),
            ("6.0.1", "connect"),
            ("6.1.0-ccs", "dual"),
            ("v7.4.0", "dual"),
            ("unknown", None),
        ],
    )
    def test_the_version_tells_the_reader(self, version: str, reader: str | None) -> None:
        found = _of_ksqldb(version)
        assert (found[0].value if found else None) == reader


CONNECT_NAME = '{"type":"record","name":"User","fields":[],"connect.name":"User"}'
WITHOUT = '{"type":"record","name":"User","fields":[]}'
INTERNAL = '{"type":"record","name":"KsqlDataSourceSchema","fields":[],"connect.name":"User"}'
GENERATED = WITHOUT.replace("[]", '[{"name":"a","type":{"type":"string","avro.java.string":"String"}}]')


class TestTheMarksOfTheReader:
    @pytest.mark.parametrize(
        ("source", "phantom", "topic", "hints"),
        [
            ([WITHOUT], CONNECT_NAME, SOURCE, [(Reader.CONNECT, Weight.STRONG)]),
            ([CONNECT_NAME], CONNECT_NAME, SOURCE, []),
            ([CONNECT_NAME, WITHOUT], CONNECT_NAME, SOURCE, []),  # any version of it counts
            ([CONNECT_NAME], INTERNAL, SOURCE, [(Reader.CONNECT, Weight.STRONG)]),
            ([], CONNECT_NAME, SOURCE, [(Reader.CONNECT, Weight.WEAK)]),  # no such subject: another naming strategy
            ([WITHOUT], CONNECT_NAME, None, [(Reader.CONNECT, Weight.WEAK)]),
            ([WITHOUT], GENERATED, SOURCE, [(Reader.PLAIN, Weight.WEAK)]),
            ([WITHOUT, GENERATED], GENERATED, SOURCE, []),
        ],
    )
    def test_what_the_source_lacks_tells_the_reader(
        self, source: list[str], phantom: str, topic: Topic | None, hints: list[tuple[Reader, Weight]]
    ) -> None:
        with world_of({"users": 1}) as world:
            for text in source:
                world.registry.seed(SOURCE_SUBJECT, text)
            world.registry.seed(PHANTOM, phantom)
            found = gather_hints(SuspectStore(application=APPLICATION, name=STORE), world.survey(), topic)
        assert [(hint.reader, hint.weight) for hint in found if isinstance(hint, ReaderHint)] == hints
