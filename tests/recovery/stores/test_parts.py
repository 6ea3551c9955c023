"""What a Spark worker does with each part of a store, done here: the same as one process does with all of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Cluster, LibraryMissingError, StateDirectoryError
from srfix.recovery.errors import RowsUnreadableError
from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.state.directory import ApplicationState
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.writing.kinds import Release
from srfix.recovery.stores.choices import OnError, Until
from srfix.recovery.stores.differences import CompareWork, ranges_to_compare
from srfix.recovery.stores.exporting import ExportFormat, ExportWork, export_on_spark, exporting
from srfix.recovery.stores.parts import SecondAnswers
from srfix.recovery.stores.rebuild.change import Reserialiser
from srfix.recovery.stores.rebuild.rebuild import BuildOnSpark, Rebuild, rebuild
from srfix.recovery.stores.rows import RowFilter, ScanWork, decoded_batches, decoded_rows, row_document
from srfix.serde import (
    AccessDeniedError,
    ById,
    ClusterError,
    DualSubject,
    FixedSubject,
    RegistryClient,
    RegistryError,
    Subject,
    UsageError,
)
from srfix.serde.schemas.errors import RegistryUnreachableError
from srfix.serde.schemas.models import Json
from tests.recovery.staging import W1, R
from tests.recovery.stores.here import (
    APPLICATION,
    STORE,
    TOPIC,
    WorkerHere,
    answers,
    asked,
    contents,
    produce,
    rebuilt,
    staged_topic,
    stores_of,
)

PHANTOM = Subject(f"{APPLICATION}-{STORE}-changelog-value")


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with staged_topic() as broker:
        yield broker


@pytest.fixture(scope="module")
def state(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> ApplicationState:
    return rebuilt(broker, tmp_path_factory.mktemp("state"))


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        registry.seed(f"{TOPIC}-value", W1)
        registry.seed(PHANTOM, R)
        yield registry


def by_id(registry: FixtureRegistry) -> RecordDecoder:
    return RecordDecoder(ById(RegistryClient(registry.url)))


def scan(
    decoder: RecordDecoder | None = None,
    *,
    second: SecondAnswers | None = None,
    limit: int = 9,
    prefix: bytes | None = None,
) -> ScanWork:
    """Reads rows as they are, without a registry, if no decoder is given."""
    decoder = decoder or RecordDecoder(ById(RegistryClient("http://127.0.0.1:9")), roles=())
    return ScanWork(wanted=RowFilter(prefix=prefix), decoder=decoder, second=second or SecondAnswers(), limit=limit)


def dual(registry: FixtureRegistry, second: SecondAnswers) -> DualSubject:
    """Asks the phantom subject, then the source's."""
    return DualSubject(
        RegistryClient(registry.url),
        first=FixedSubject(value=PHANTOM),
        second=FixedSubject(value=f"{TOPIC}-value"),
        on_second=second,
    )


class TestScan:
    def test_the_rows_of_all_tasks_are_those_of_one_process(
        self, state: ApplicationState, registry: FixtureRegistry
    ) -> None:
        decoder = by_id(registry)
        here = [
            row_document(row, application=APPLICATION)
            for store in stores_of(state)
            for row in decoded_rows(store, store.rows(), decoder, topic=store.changelog)
        ]
        parts = WorkerHere().run(scan(decoder, limit=100), stores_of(state), doing="reading")
        assert [row_document(row, application=APPLICATION) for part in parts for row in part.rows] == here
        assert len(here) > 10

    def test_it_is_bounded_by_a_filter_and_a_limit_for_each_task(self, state: ApplicationState) -> None:
        parts = WorkerHere().run(scan(prefix=b"k1", limit=2), stores_of(state), doing="reading")
        assert [len(part.rows) for part in parts] == [2, 2, 2]
        assert all(row.row.key.startswith(b"k1") for part in parts for row in part.rows)

    def test_where_a_second_subject_answers_is_taken_along(
        self, state: ApplicationState, registry: FixtureRegistry
    ) -> None:
        second = SecondAnswers()
        work = scan(RecordDecoder(dual(registry, second)), second=second)
        first, *others = WorkerHere().run(work, stores_of(state), doing="reading")
        (note,) = first.notes
        assert PHANTOM in note
        assert [part.notes for part in others] == [(), ()]  # the same process remembers it

    def test_damage_is_told_with_the_rows_before_it(self, state: ApplicationState, tmp_path: Path) -> None:
        copy = tmp_path / APPLICATION
        shutil.copytree(state.path, copy)
        (table,) = (copy / "0_1").rglob("*.sst")
        table.write_bytes(table.read_bytes()[:-10])
        (damaged,) = read_state_directory(copy)
        parts = WorkerHere().run(scan(), stores_of(damaged), doing="reading")
        assert [bool(part.store.damages) for part in parts] == [False, True, False]


def export(form: ExportFormat, decoder: RecordDecoder, out: Path) -> ExportWork:
    return ExportWork(form=form, application=APPLICATION, decoder=decoder, second=SecondAnswers(), folder=str(out))


class TestExport:
    @pytest.mark.parametrize("form", [ExportFormat.PARQUET, ExportFormat.JSONL])
    def test_each_task_has_its_file_as_one_process_writes_it(
        self, form: ExportFormat, state: ApplicationState, registry: FixtureRegistry, tmp_path: Path
    ) -> None:
        decoder, stores = by_id(registry), stores_of(state)
        done = export_on_spark(WorkerHere(), export(form, decoder, tmp_path), stores)
        assert sorted(path.name for path in tmp_path.iterdir()) == [f"{STORE}-0_{n}.{form.value}" for n in range(3)]
        for part, store in zip(done, stores, strict=True):
            here = tmp_path / f"here.{form.value}"
            with exporting(here, form, application=APPLICATION) as write:
                batches = list(decoded_batches(store, store.batches(), decoder, topic=store.changelog))
                assert sum(map(write, batches)) == part.failed == 0
            assert part.rows == sum(map(len, batches))
            if form is ExportFormat.PARQUET:
                assert pq.read_table(part.path).equals(pq.read_table(here))
            else:
                assert Path(part.path).read_bytes() == here.read_bytes()
            here.unlink()

    def test_nothing_is_written_over_and_nothing_left(
        self, state: ApplicationState, registry: FixtureRegistry, tmp_path: Path
    ) -> None:
        (tmp_path / f"{STORE}-0_2.csv").write_text("mine")

        work = export(ExportFormat.CSV, by_id(registry), tmp_path)
        with pytest.raises(UsageError, match=r"0_2\.csv exists already"):
            export_on_spark(WorkerHere(), work, stores_of(state))
        registry.close()
        with pytest.raises(RegistryUnreachableError):
            export_on_spark(WorkerHere(), work, stores_of(state)[:2])
        assert [path.name for path in tmp_path.iterdir()] == [f"{STORE}-0_2.csv"]


class TestDiff:
    @pytest.mark.parametrize("group", [APPLICATION, None])
    def test_each_task_is_compared_as_one_process_does(
        self, group: str | None, state: ApplicationState, broker: EmbeddedBroker
    ) -> None:
        kafka = {"bootstrap.servers": broker.bootstrap_servers}
        with Cluster(kafka) as cluster:
            to_compare = ranges_to_compare(cluster, TOPIC, group=group)
            here = [to_compare.part(cluster, store) for store in stores_of(state)]
        work = CompareWork(to_compare=to_compare, kafka=kafka, timeout_s=15)
        assert WorkerHere().run(work, stores_of(state), doing="comparing") == here
        assert any(sum(each.counts.values()) for each in here) == (group is None)


def on_spark(
    broker: EmbeddedBroker,
    rebuilds: Rebuild,
    target: Path,
    second: SecondAnswers | None = None,
    tell: Callable[[Iterable[str]], None] = lambda _notes: None,
) -> Json:
    """The report of a rebuild by tasks."""
    kafka = {"bootstrap.servers": broker.bootstrap_servers}
    build = BuildOnSpark(engine=WorkerHere(), kafka=kafka, timeout_s=15, second=second or SecondAnswers(), tell=tell)
    with Cluster(kafka) as cluster:
        return rebuild(rebuilds, cluster, target, request={}, build=build)


class TestRebuild:
    def both(self, broker: EmbeddedBroker, folder: Path, rebuilds: Rebuild) -> None:
        """Written by one process, and task by task: the same directory, the same report."""
        with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
            here = rebuild(rebuilds, cluster, folder / "here" / APPLICATION, request={})
        assert on_spark(broker, rebuilds, folder / "there" / APPLICATION) == here
        assert contents(folder / "there") == contents(folder / "here")
        assert [path.name for path in (folder / "there").iterdir()] == [APPLICATION]

    @pytest.mark.parametrize(
        "changed",
        [
            {"release": Release(4, 3, 1)},
            pytest.param({"release": Release(2, 6, 3)}, marks=pytest.mark.slow),
            pytest.param({"subtopology": None}, marks=pytest.mark.slow),  # a global store is one task
        ],
    )
    def test_the_rows_of_the_topic(self, changed: dict[str, Any], broker: EmbeddedBroker, tmp_path: Path) -> None:
        self.both(broker, tmp_path, asked(**changed))

    @pytest.mark.slow
    def test_beside_other_stores_and_other_tasks(self, broker: EmbeddedBroker, tmp_path: Path) -> None:
        first = asked(store="other", subtopology=0, partitions=(1, 2))
        beside = rebuilt(broker, tmp_path / "first", [first])
        more = asked(store="more", subtopology=1, partitions=(0,), beside=beside)
        beside = rebuilt(broker, tmp_path / "more", [more])
        (Path(beside.path) / "kafka-streams-process-metadata").write_text('{"processId": "1"}')
        self.both(broker, tmp_path / "both", asked(beside=beside))

    def test_with_values_that_are_read_under_a_second_subject(
        self, broker: EmbeddedBroker, registry: FixtureRegistry, tmp_path: Path
    ) -> None:
        second, notes = SecondAnswers(), list[str]()
        payload = Reserialiser(RegistryClient(registry.url), PHANTOM, resolver=dual(registry, second))
        report = on_spark(broker, asked(payload=payload), tmp_path / APPLICATION, second, notes.extend)
        assert isinstance(report, dict)
        assert report["unreadable_rows"] == 0
        (note,) = notes
        assert PHANTOM in note

    @pytest.mark.parametrize("on_error", list(OnError))
    def test_rows_that_cannot_be_written_anew(self, on_error: OnError, broker: EmbeddedBroker, tmp_path: Path) -> None:
        with FixtureRegistry() as registry:
            registry.seed(PHANTOM, R)
            registry.seed(PHANTOM + "-2", W1)
            produce(broker, range(60, 63), schema_id=99)
            payload = Reserialiser(RegistryClient(registry.url), PHANTOM)
            wanted = asked(payload=payload, on_error=on_error, until=Until.END)
            if on_error is OnError.KEEP_RAW:
                self.both(broker, tmp_path, wanted)
                return
            with pytest.raises(RowsUnreadableError, match="srfix cannot rewrite"):
                on_spark(broker, wanted, tmp_path / APPLICATION)
            assert list(tmp_path.iterdir()) == []

    def test_what_a_kill_left_is_thrown_away(self, broker: EmbeddedBroker, tmp_path: Path) -> None:
        left = tmp_path / "there" / f".{APPLICATION}.srfix-unfinished" / "scratch" / "attempt"
        left.mkdir(parents=True)
        (left / "row").write_text("half")
        self.both(broker, tmp_path, asked())


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    error: Exception

    def __call__(self, part: str) -> str:
        raise self.error

    def places(self, part: str) -> list[Path]:
        return [Path(part)]


class TestWorker:
    def test_a_directory_that_it_does_not_see_is_named(self, state: ApplicationState) -> None:
        stores = stores_of(state)
        stores[1].directory = replace(stores[1].directory, path="/nowhere/shop/0_1/rocksdb/users-store")
        with pytest.raises(StateDirectoryError, match=r"worker on \S+ sees no directory /nowhere/"):
            WorkerHere().run(scan(), stores, doing="reading")

    def test_a_library_that_it_lacks_is_named_with_the_worker(self, tmp_path: Path) -> None:
        with pytest.raises(StateDirectoryError, match=r"worker on \S+: .* 'srfix\[state\]'"):
            WorkerHere().run(Failing(error=LibraryMissingError()), [str(tmp_path)], doing="failing")

    @pytest.mark.parametrize("error", [RegistryError("away"), ClusterError("away"), KeyError("a bug")])
    def test_an_outage_fails_the_task_so_that_spark_tries_again(self, error: Exception, tmp_path: Path) -> None:
        with pytest.raises(type(error)):
            list(answers(Failing(error=error), [str(tmp_path)]))

    @pytest.mark.core
    def test_what_does_not_heal_is_an_answer(self, tmp_path: Path) -> None:
        denied = AccessDeniedError("no", acl="Read on topic 'users'")
        (answer,) = answers(Failing(error=denied), [str(tmp_path)])
        assert isinstance(answer, AccessDeniedError)
        assert answer.acl == "Read on topic 'users'"

    def test_a_long_answer_comes_in_pieces(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("srfix.recovery.stores.parts._PIECE_BYTES", 7)
        failing = Failing(error=UsageError("more than seven bytes"))
        with pytest.raises(UsageError, match="more than seven bytes"):
            WorkerHere().run(failing, [str(tmp_path)], doing="failing")
