"""What a person hands over decides: state directories, topologies and ksqlDB, on the embedded parts, to the finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from parts.state_directory import write_application, write_task
from srfix.recovery.commands import CommandLine
from srfix.recovery.diagnosis.candidates import find_candidates
from srfix.recovery.diagnosis.examination import Examination, acknowledge
from srfix.recovery.diagnosis.weighing import weigh_all
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.supplied import GivenTopology, Supplied
from srfix.recovery.findings import Finding, Severity, Weight
from srfix.recovery.ksqldb.client import KsqldbClient
from srfix.recovery.ksqldb.models import KsqldbAnswers, ServerInfo
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.topology import parse_topologies
from tests.recovery.ksqldb.server import APPLICATION as QUERY
from tests.recovery.ksqldb.server import ERROR, ksqldb_server
from tests.recovery.ksqldb.server import STORE as KSQLDB_TABLE
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, TABLE, W1, R
from tests.recovery.world import V1, World, value, world_of


@pytest.fixture
def world() -> Iterator[World]:
    """Two topics of one schema, read by one group: nothing on the cluster tells which the store is made from."""
    with world_of({"users": 1, "clients": 1}) as made:
        made.registry.seed(SOURCE_SUBJECT, W1)
        made.registry.seed("clients-value", W1)
        for topic in ("users", "clients"):
            made.put(topic, ("a", V1))
        made.commit("shop", users=1, clients=1)
        yield made


def with_phantom(world: World) -> None:
    world.registry.seed(PHANTOM, R)


def state(
    tmp_path: Path, checkpoint: str | None, *stores: str, task: str = "0_0", application: str = "shop"
) -> Supplied:
    folder = tmp_path / application / task
    for store in stores:
        (folder / "rocksdb" / store).mkdir(parents=True)
    if checkpoint is not None:
        lines = checkpoint.splitlines()
        (folder / ".checkpoint").write_text("".join(f"{line}\n" for line in ["0", str(len(lines)), *lines]))
    return Supplied(state=read_state_directory(tmp_path))


def topology(text: str = TABLE, application: str | None = None) -> Supplied:
    (found,) = parse_topologies(text, origin="topology.txt")
    return Supplied(topologies=(GivenTopology(topology=found, origin="topology.txt", application=application),))


def examine(world: World, supplied: Supplied, *, application: str | None = None, **sources: str) -> Examination:
    """As on 2.6.3, where a store whose phantom subject does not exist is in danger too."""
    survey = world.survey(**sources)
    survey.supplied = supplied
    return world.examine(survey=survey, application=application, streams_version="2.6.3")


def incident(examination: Examination) -> Finding:
    (finding,) = [found for found in examination.diagnosis.findings if found.code in ("SRF001", "SRF006")]
    return finding


def source(finding: Finding) -> str | None:
    return None if finding.source is None else str(finding.source.topic)


def seen(finding: Finding, kind: str) -> set[tuple[str | None, Weight]]:
    return {(piece.topic, piece.weight) for piece in finding.evidence if piece.kind == kind and not piece.against}


def reasons(examination: Examination) -> str:
    return "\n".join(f"{skipped.what}: {skipped.reason}" for skipped in examination.diagnosis.skipped)


class TestNothingHandedOver:
    def test_two_topics_and_nothing_conclusive_is_not_repairable(self, world: World) -> None:
        with_phantom(world)
        finding = incident(examine(world, Supplied()))
        assert (source(finding), finding.repairable) == (None, False)
        assert {piece.topic for piece in finding.evidence if piece.topic is not None} == {"users", "clients"}


class TestStateDirectory:
    @pytest.mark.parametrize(
        ("checkpoint", "stores"),
        [
            pytest.param("users 0 0", ("users-store",), id="the-only-store-and-the-only-topic"),
            pytest.param(
                "users 0 0\nshop-counts-changelog 0 7", ("users-store", "counts"), id="beside-a-changelogs-own"
            ),
            pytest.param("users 0 0\nshop-gone-changelog 0 7", ("users-store",), id="beside-that-of-one-that-is-gone"),
        ],
    )
    def test_what_is_left_of_stores_and_topics_belongs_together(
        self, world: World, tmp_path: Path, checkpoint: str, stores: tuple[str, ...]
    ) -> None:
        with_phantom(world)
        finding = incident(examine(world, state(tmp_path, checkpoint, *stores)))
        assert (source(finding), finding.repairable) == ("users", True)
        assert seen(finding, "state-directory") == {("users", Weight.CONCLUSIVE)}

    def test_of_two_stores_left_over_the_one_that_its_schema_and_its_name_tell_has_the_topic(
        self, world: World, tmp_path: Path
    ) -> None:
        with_phantom(world)
        found = examine(world, state(tmp_path, "users 0 0", "users-store", "other")).diagnosis.findings
        assert {(f.store, source(f), *seen(f, "state-directory")) for f in found if f.code == "SRF001"} == {
            ("users-store", "users", ("users", Weight.WEAK)),
            ("other", None, ("users", Weight.WEAK)),
        }

    def test_without_any_subject_the_store_is_found_all_the_same(self, world: World, tmp_path: Path) -> None:
        assert examine(world, Supplied()).diagnosis.findings == ()
        finding = incident(examine(world, state(tmp_path, "users 0 0", "users-store")))
        assert (finding.application, finding.store, source(finding)) == ("shop", "users-store", "users")
        assert "does not exist (40401)" in finding.explanation

    def test_a_missing_checkpoint_proves_nothing_and_is_explained(self, world: World, tmp_path: Path) -> None:
        with_phantom(world)
        examination = examine(world, state(tmp_path, None, "users-store"))
        assert source(incident(examination)) is None
        said = f"the checkpoint of task 0_0 in {tmp_path}/shop: there is none, but that proves nothing. Streams 2.6.0 to 2.6.3"
        assert said in reasons(examination)

    def test_a_store_that_restores_from_nowhere_is_no_candidate(self, world: World, tmp_path: Path) -> None:
        examination = examine(world, state(tmp_path, "shop-counts-changelog 0 7", "counts", "cache"))
        assert examination.diagnosis.examined == ()

    @pytest.mark.parametrize("checkpoint", ["shop-counts-changelog 0 7", ""])
    def test_a_store_whose_checkpoint_names_nothing_for_it_has_its_logging_disabled(
        self, world: World, tmp_path: Path, checkpoint: str
    ) -> None:
        """Its phantom subject is there by design, and the evidence of the cluster would take `users` for its source."""
        with_phantom(world)
        examination = examine(world, state(tmp_path, checkpoint, "users-store"))
        (note,) = examination.diagnosis.findings
        assert (note.code, note.subject, note.source) == ("SRF007", PHANTOM, None)
        assert "its state directory says that nothing is restored into it" in note.explanation
        assert not any(skipped.subjects for skipped in examination.diagnosis.skipped)

    def test_of_one_that_was_reset_it_is_said_that_it_was_not_looked_at(self, world: World, tmp_path: Path) -> None:
        """The tool that resets an application commits the starts of its topics."""
        with_phantom(world)
        world.commit("shop", users=0, clients=0)
        examination = examine(world, state(tmp_path, "shop-counts-changelog 0 7", "users-store"))
        assert examination.diagnosis.findings == ()
        assert "(`srfix explain SRF007`), or the application was reset or is gone" in reasons(examination)
        assert not any("logging" in skipped.reason and skipped.could_hide for skipped in examination.diagnosis.skipped)

    def test_a_person_may_say_that_it_restores_all_the_same(self, world: World, tmp_path: Path) -> None:
        with_phantom(world)
        examination = examine(
            world, state(tmp_path, "shop-counts-changelog 0 7", "users-store"), **{"users-store": "users"}
        )
        assert source(incident(examination)) == "users"

    def test_a_window_store_is_never_made_straight_from_a_topic(self, world: World, tmp_path: Path) -> None:
        (tmp_path / "shop/0_0/window/window.1592262000000").mkdir(parents=True)
        examination = examine(world, state(tmp_path, "users 0 0", "users-store"))
        assert examination.diagnosis.examined == ("shop/users-store",)
        assert seen(incident(examination), "state-directory") == {("users", Weight.CONCLUSIVE)}

    def test_nor_is_it_looked_at_where_there_is_no_checkpoint(self, world: World, tmp_path: Path) -> None:
        (tmp_path / "shop/0_0/window/window.1592262000000").mkdir(parents=True)
        assert examine(world, state(tmp_path, None)).diagnosis.examined == ()

    def test_a_changelog_that_was_deleted_is_said_to_be_missing(self, world: World, tmp_path: Path) -> None:
        examination = examine(world, state(tmp_path, "shop-counts-changelog 0 7", "counts"))
        assert examination.diagnosis.findings == ()
        assert "shop-counts-changelog, which does not exist here" in reasons(examination)

    def test_what_a_checkpoint_says_of_a_store_can_be_acknowledged(self, world: World, tmp_path: Path) -> None:
        examination = examine(world, state(tmp_path, "shop-counts-changelog 0 7\npeople 0 0", "counts"))
        [deleted] = [skip for skip in examination.diagnosis.skipped if "its own changelog topic" in skip.reason]
        assert deleted.subjects == SuspectStore(application="shop", name="counts").subjects
        kept = acknowledge(examination, ("shop-counts-changelog-*",), (), CommandLine()).diagnosis
        assert deleted not in kept.skipped
        assert deleted.what in [each.what for each in kept.ignored]

    def test_a_topic_of_another_cluster_is_said_and_not_taken(self, world: World, tmp_path: Path) -> None:
        with_phantom(world)
        examination = examine(world, state(tmp_path, "people 0 0", "users-store"))
        assert seen(incident(examination), "state-directory") == set()
        assert "people, named by the checkpoint of store users-store: this cluster has no such topic" in reasons(
            examination
        )

    def test_another_applications_directory_is_left_out_and_said_to_be(self, world: World, tmp_path: Path) -> None:
        with_phantom(world)
        supplied = state(tmp_path, "users 0 0", "users-store", application="till")
        examination = examine(world, supplied, application="shop")
        assert source(incident(examination)) is None
        assert "the directory belongs to application 'till', not to 'shop'" in reasons(examination)

    def test_a_damaged_checkpoint_is_skipped_with_file_and_line(self, world: World, tmp_path: Path) -> None:
        with_phantom(world)
        supplied = state(tmp_path, None, "users-store")
        (tmp_path / "shop/0_0/.checkpoint").write_text("0\n1\nusers\n")
        examination = examine(world, Supplied(state=read_state_directory(tmp_path)))
        assert supplied.state
        assert "0_0/.checkpoint, line 3: it is not '<topic> <partition> <offset>'" in reasons(examination)

    def test_a_global_store_restores_everything_whatever_was_committed(self, world: World, tmp_path: Path) -> None:
        with_phantom(world)
        world.put("users", ("b", V1))
        finding = incident(examine(world, state(tmp_path, "users 0 2", "users-store", task="global")))
        assert [(fault.live_keys, fault.partitions[0].pending_keys) for fault in finding.schema_ids] == [(2, 0)]

    def test_the_name_of_the_folder_helps_to_split_a_subject(self, world: World, tmp_path: Path) -> None:
        world.registry.seed("till-users-store-changelog-value", R)
        supplied = state(tmp_path, "users 0 0", "users-store", application="till")
        finding = incident(examine(world, supplied))
        assert (finding.application, finding.store) == ("till", "users-store")


OTHER = '{"type":"record","name":"Counts","fields":[{"name":"COUNT","type":["null","long"],"default":null}]}'


class TestTwoStoresAndOneTopic:
    """One group that reads `users` alone, one task, `users` in its checkpoint: which of its two stores is the table?"""

    @pytest.fixture
    def world(self) -> Iterator[World]:
        with world_of({"users": 1}) as made:
            made.registry.seed(SOURCE_SUBJECT, W1)
            made.live(("a", V1))
            yield made

    @pytest.fixture
    def supplied(self, tmp_path: Path) -> Supplied:
        return state(tmp_path, "users 0 0", "users-store", "cache")

    def found(self, examination: Examination) -> dict[str, tuple[str | None, bool]]:
        return {
            finding.store: (source(finding), finding.repairable)
            for finding in examination.diagnosis.findings
            if finding.code == "SRF001"
        }

    @pytest.mark.parametrize("phantoms", [(), ("users-store", "cache")], ids=["without subjects", "alike"])
    def test_nothing_is_repaired_until_the_person_says_which(
        self, world: World, supplied: Supplied, phantoms: tuple[str, ...]
    ) -> None:
        for store in phantoms:
            world.registry.seed(f"shop-{store}-changelog-value", R)
        examination = examine(world, supplied)
        assert self.found(examination) == {"users-store": (None, False), "cache": (None, False)}
        finding = incident(examine(world, supplied, **{"users-store": "users"}))
        assert (finding.store, source(finding), finding.repairable) == ("users-store", "users", True)

    def test_the_other_one_is_said_to_restore_from_nowhere_then(self, world: World, supplied: Supplied) -> None:
        examination = examine(world, supplied, **{"users-store": "users"})
        assert "the only candidate topic, users, belongs to another store" in reasons(examination)
        assert not examination.diagnosis.is_inconclusive

    def test_the_one_whose_internal_schema_is_a_projection_of_the_topics_is_taken(
        self, world: World, supplied: Supplied
    ) -> None:
        with_phantom(world)
        world.registry.seed("shop-cache-changelog-value", OTHER)
        examination = examine(world, supplied)
        assert self.found(examination) == {"users-store": ("users", True)}
        assert "store cache of application shop: srfix found no evidence of its source topic" in reasons(examination)
        assert any(skipped.could_hide for skipped in examination.diagnosis.skipped)

    def test_a_topology_takes_it_for_certain(self, world: World, supplied: Supplied) -> None:
        world.registry.seed("shop-cache-changelog-value", R)
        both = Supplied(state=supplied.state, topologies=topology(application="shop").topologies)
        assert self.found(examine(world, both, application="shop")) == {"users-store": ("users", True)}

    def test_a_rival_whose_topic_is_known_is_none(self, world: World, tmp_path: Path) -> None:
        """Three stores, two topics: a name or a topology that settles one settles nothing for the others but its topic."""
        world.broker.create_topic("clients", 1)
        supplied = state(tmp_path, "users 0 0\nclients 0 0", "users-store", "clients-STATE-STORE-0000000003")
        finding = incident(examine(world, supplied, **{"clients-STATE-STORE-0000000003": "clients"}))
        assert (finding.store, source(finding), finding.repairable) == ("users-store", "users", True)


class TestTopology:
    @pytest.mark.parametrize("has_subject", [True, False])
    def test_it_decides_for_the_application_that_was_named(self, world: World, has_subject: bool) -> None:
        if has_subject:
            with_phantom(world)
        finding = incident(examine(world, topology(application="shop"), application="shop"))
        assert (finding.store, source(finding), finding.repairable) == ("users-store", "users", True)
        assert seen(finding, "topology") == {("users", Weight.CONCLUSIVE)}

    def test_it_is_strong_where_nobody_said_whose_it_is(self, world: World) -> None:
        with_phantom(world)
        finding = incident(examine(world, topology()))
        assert seen(finding, "topology") == {("users", Weight.STRONG)}
        assert source(finding) == "users"

    def test_nobodys_topology_whose_stores_nothing_points_to_is_said_to_be_left_out(self, world: World) -> None:
        examination = examine(world, topology())
        assert any(skipped.could_hide for skipped in examination.diagnosis.skipped)
        assert "the printed topology does not name its application" in reasons(examination)

    @pytest.mark.parametrize(("stores", "owner"), [(["users-store"], "shop"), (["users-store", "other"], None)])
    def test_nobodys_topology_is_the_applications_whose_stores_on_disk_are_all_in_it(
        self, tmp_path: Path, stores: list[str], owner: str | None
    ) -> None:
        supplied = replace(state(tmp_path, None, *stores), topologies=topology().topologies)
        assert [given.application for given in supplied.with_owners().topologies] == [owner]

    def test_a_global_store_restores_everything_in_every_configuration(self, world: World) -> None:
        with_phantom(world)
        text = TABLE.replace("Sub-topology: 0", "Sub-topology: 0 for global store (will not generate tasks)")
        world.put("users", ("b", V1))
        finding = incident(examine(world, topology(text, "shop"), application="shop"))
        assert [(fault.live_keys, fault.partitions[0].pending_keys) for fault in finding.schema_ids] == [(2, 0)]


class TestConflicts:
    def test_two_conclusive_witnesses_for_two_topics_are_shown_and_nothing_is_repaired(
        self, world: World, tmp_path: Path
    ) -> None:
        with_phantom(world)
        on_disk = state(tmp_path, "clients 0 0", "users-store")
        both = Supplied(state=on_disk.state, topologies=topology(application="shop").topologies)
        finding = incident(examine(world, both, application="shop"))
        assert (source(finding), finding.repairable) == (None, False)
        assert seen(finding, "state-directory") == {("clients", Weight.CONCLUSIVE)}
        assert seen(finding, "topology") == {("users", Weight.CONCLUSIVE)}
        assert finding.next == (
            "Name the topic: `srfix diagnose --source shop/users-store=users` or `srfix diagnose --source "
            "shop/users-store=clients`."
        )
        assert {each.topic for each in finding.considered} == {"users", "clients"}

    def test_what_the_person_says_decides_and_the_rest_is_shown(self, world: World, tmp_path: Path) -> None:
        with_phantom(world)
        survey = world.survey(**{"users-store": "users"})
        survey.supplied = state(tmp_path, "clients 0 0", "users-store")
        finding = incident(world.examine(survey=survey))
        assert (source(finding), finding.repairable) == ("users", True)
        assert seen(finding, "state-directory") == {("clients", Weight.CONCLUSIVE)}


class TestKsqldb:
    @pytest.fixture
    def world(self) -> Iterator[World]:
        with world_of({"t": 1, "s": 1}) as made:
            made.registry.seed("t-value", W1)
            made.registry.seed("s-value", W1)
            made.registry.seed(f"{QUERY}-{KSQLDB_TABLE}-changelog-value", R)
            made.put("t", ("a", V1))
            made.put("s", ("a", V1))
            made.commit(QUERY, t=1, s=1)
            yield made

    def answers(self) -> KsqldbAnswers:
        with ksqldb_server() as server, KsqldbClient(server.url) as client:
            return client.survey()

    def test_the_query_of_2020_is_named_with_its_table_and_topic(self, world: World) -> None:
        finding = incident(examine(world, Supplied(ksqldb=(self.answers(),))))
        assert (finding.application, finding.store, source(finding)) == (QUERY, KSQLDB_TABLE, "t")
        (piece,) = [piece for piece in finding.evidence if piece.kind == "ksqldb"]
        assert piece.weight is Weight.CONCLUSIVE
        assert piece.detail.startswith(
            "query CSAS_J_0 (ERROR) reads table T on this topic, values in AVRO: the store belongs to processor"
        )
        assert ERROR.startswith("Error retrieving Avro value schema")

    def test_its_version_says_what_reads_the_store(self, world: World) -> None:
        finding = incident(examine(world, Supplied(ksqldb=(self.answers(),))))
        assert finding.severity is Severity.BROKEN
        assert ("reader", "connect", Weight.CONCLUSIVE) in {(o.kind, o.says, o.weight) for o in finding.observations}

    def test_a_patched_engine_makes_it_a_note(self, world: World) -> None:
        answers = self.answers()
        patched = KsqldbAnswers(
            origin="ksql.txt",
            server=ServerInfo(version="0.11.0", service_id="default_"),
            queries=answers.queries,
            sources=answers.sources,
        )
        assert incident(examine(world, Supplied(ksqldb=(patched,)))).severity is Severity.NOTE

    def test_a_server_that_did_not_answer_is_skipped_with_its_reason(self, world: World) -> None:
        silent = KsqldbAnswers(origin="http://ksqldb:8088", problems=("no connection",))
        examination = examine(world, Supplied(ksqldb=(silent,)))
        assert "ksqlDB (http://ksqldb:8088): no connection" in reasons(examination)
        (skipped,) = (s for s in examination.diagnosis.skipped if s.what == "ksqlDB (http://ksqldb:8088)")
        assert skipped.could_hide


class TestRowsOnDisk:
    """A store without a phantom subject, as from Kafka Streams 2.7 on: no schema is there to compare."""

    @pytest.fixture
    def apart(self) -> Iterator[World]:
        """Three topics of one's own schema each, and other topics that the group reads."""
        with world_of({"users": 1, "clients": 1, "rates": 1}) as made:
            for topic, name in (("users", "User"), ("clients", "Client"), ("rates", "Rate")):
                schema_id = made.registry.seed(f"{topic}-value", W1.replace("User", name))
                made.put(topic, ("a", value(schema_id)))
            made.commit("shop", users=1, clients=1)
            yield made

    @pytest.mark.parametrize(
        ("task", "schema_id", "topic"),
        [("0_0", 1, "users"), ("0_0", 2, "clients"), ("global", 3, "rates"), ("0_0", 4, None)],
    )
    def test_their_ids_tell_whose_they_are(
        self, apart: World, tmp_path: Path, task: str, schema_id: int, topic: str | None
    ) -> None:
        """Seen wrong: of a global store's rows the one topic that the group reads was offered."""
        write_task(write_application(tmp_path, "shop"), task, "t", {b"a": value(schema_id)}, checkpoint=None)
        survey = apart.survey()
        survey.supplied = Supplied(state=read_state_directory(tmp_path))
        candidates = find_candidates(survey, application=None, store=None, command_line=CommandLine())
        (verdict,) = weigh_all(candidates.suspects, survey, candidates.applications)
        assert (None if verdict.chosen is None else verdict.chosen.topic) == topic
