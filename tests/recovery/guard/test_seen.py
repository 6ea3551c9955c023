"""What cluster and registry add to names: what is certain, and what cannot be."""

from __future__ import annotations

import pytest

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.recovery import Reader, Severity
from srfix.recovery.forecasts import Certainty
from srfix.recovery.guard.models import Wiring
from srfix.serde import Role, Schema
from tests.recovery.guard.offline import AGGREGATE, GLOBAL, assumed, only, subjects, told
from tests.recovery.guard.seen import NEXT, OWN, PHANTOM, SOURCE, WRITER, seen, stage
from tests.recovery.staging import TABLE
from tests.recovery.world import World, value


class TestOnRestore:
    @pytest.mark.parametrize(("text", "code"), [(TABLE, "SRF001"), (GLOBAL, "SRF006")])
    def test_it_is_certain_once_the_phantom_holds_a_schema_of_its_own(self, text: str, code: str, world: World) -> None:
        stage(world)
        each = only(seen(world, text=text))
        assert (each.code, each.certainty, each.schema_ids) == (code, Certainty.CERTAIN, (1,))
        assert f"{PHANTOM} holds schema id 2, but not schema id 1." in each.explanation

    def test_what_is_soft_deleted_alone_under_the_phantom_is_there(self, world: World) -> None:
        stage(world)
        world.client().delete_version(PHANTOM, 1)
        assert only(seen(world)).certainty is Certainty.CERTAIN

    def test_before_the_first_put_it_is_not_known_what_the_store_writes(self, world: World) -> None:
        stage(world, phantom=())
        each = only(seen(world))
        assert (each.certainty, each.schema_ids) == (Certainty.POSSIBLE, (1,))
        assert f"{PHANTOM} does not exist yet; the records carry schema id 1." in each.explanation

    @pytest.mark.parametrize(
        ("committed", "reader", "most"),
        [
            pytest.param(0, Reader.CONNECT, None, id="what-was-not-committed-would-be-processed-again"),
            pytest.param(1, Reader.UNKNOWN, None, id="an-unknown-reader"),
            pytest.param(1, Reader.CONNECT, 1, id="what-was-read-in-part"),
        ],
    )
    def test_it_is_not_certain_else(self, committed: int, reader: Reader, most: int | None, world: World) -> None:
        stage(world, committed=committed)
        world.put("users", ("bob", value(1)))
        assert only(seen(world, assumed(reader=reader), max_records=most)).certainty is Certainty.POSSIBLE

    @pytest.mark.parametrize("phantom", [(WRITER,), (OWN, WRITER)])
    def test_a_phantom_that_holds_all_ids_breaks_nothing(self, phantom: tuple[str, ...], world: World) -> None:
        stage(world, phantom=phantom)
        world.registry.configure(PHANTOM, {"compatibility": "NONE"})
        assert told(seen(world)) == []

    def test_a_registry_alone_tells_of_the_subjects_schemas(self, world: World) -> None:
        stage(world, source=(WRITER, NEXT))
        each = only(seen(world, has_cluster=False))
        assert (each.certainty, each.schema_ids) == (Certainty.POSSIBLE, (1, 2))

    def test_a_cluster_alone_tells_whether_a_changelog_exists(self, world: World) -> None:
        world.broker.create_topic("shop-users-store-changelog", 1)
        found = seen(world, assumed(optimization=None), has_registry=False)
        assert told(found) == []
        assert found.stores[0].wirings == (Wiring.OWN,)
        assert set(subjects(found).values()) == {"excluded"}

    def test_a_changelog_that_is_not_there_is_none_of_an_application_that_runs(self, world: World) -> None:
        stage(world)
        found = seen(world, assumed(optimization=None))
        assert found.stores[0].wirings == (Wiring.REUSED, Wiring.NONE)
        assert only(found).certainty is Certainty.UNTOLD
        assert subjects(found)[PHANTOM, "2.6.3"] == "certain"

    def test_a_topic_that_is_not_there_hides_what_it_holds(self, world: World) -> None:
        found = seen(world, text=TABLE.replace("[users]", "[people]"))
        assert [(each.what, each.could_hide) for each in found.skipped] == [("topic people, named by t.txt", True)]
        assert found.is_open

    def test_a_topic_that_was_read_in_part_is_not_called_whole(self, world: World) -> None:
        stage(world, phantom=(WRITER,))
        world.put("users", ("bob", value(1)))
        found = seen(world, max_records=1)
        assert told(found) == []
        assert [each.what for each in found.skipped if each.could_hide] == ["the rest of topic users"]
        assert found.is_open

    def test_values_of_no_registry_are_left_alone(self, world: World) -> None:
        world.live(("ann", b"plain text"))
        found = seen(world)
        assert told(found) == []
        assert subjects(found)[PHANTOM, "2.6.3"] == "possible"

    @pytest.mark.parametrize("has_own", [False, True])
    def test_keys_of_a_registry_are_told_and_never_certain_whatever_the_phantom_holds(
        self, has_own: bool, world: World
    ) -> None:
        stage(world, phantom=(WRITER,))
        key_id = world.registry.seed("users-key", WRITER.replace("User", "UserKey"))
        if has_own:
            world.registry.seed("shop-users-store-changelog-key", OWN)
        world.put("users", (value(key_id), value(1)))
        world.commit("shop", users=2)
        each = only(seen(world))
        assert (each.role, each.certainty) == (Role.KEY, Certainty.POSSIBLE)
        assert has_own or each.schema_ids == (key_id,)

    @pytest.mark.parametrize("key", ["bob", value(1)])
    def test_keys_that_carry_no_id_of_their_subject_are_no_registrys(self, key: str | bytes, world: World) -> None:
        stage(world, phantom=(WRITER,))
        world.registry.seed("users-key", WRITER.replace("User", "UserKey"))
        world.put("users", (key, value(1)))
        world.commit("shop", users=2)
        assert told(seen(world)) == []

    def test_a_changelog_that_exists_is_no_phantom_whatever_was_said(self, world: World) -> None:
        stage(world)
        world.broker.create_topic("shop-users-store-changelog", 1)
        found = seen(world)
        assert set(subjects(found).values()) == {"excluded"}
        # Nor is it certain then that the source topic is what is restored.
        assert only(found).certainty is Certainty.POSSIBLE

    def test_a_plain_reader_fails_in_a_named_context(self, world: World) -> None:
        world.path = "/contexts/.eu"
        client = world.client()
        writer = client.register(SOURCE, Schema(text=WRITER))
        client.register(PHANTOM, Schema(text=OWN))
        world.live(("ann", value(writer)))
        each = only(seen(world, assumed(reader=Reader.PLAIN)))
        assert (each.severity, each.certainty) == (Severity.BREAKS_ON_RESTORE, Certainty.CERTAIN)

    def test_what_was_concluded_of_the_version_makes_nothing_certain(self, world: World) -> None:
        stage(world)
        # Metadata with magic byte 2 beside committed offsets is that of 3.3 or later.
        world.broker.commit("shop", {("users", 0): 1}, metadata="AgAAAAAAAAAA")
        found = seen(world, assumed(None))
        assert told(found) == []
        assert subjects(found)[PHANTOM, "3.3"] == "excluded"


class TestOnUpgrade:
    def test_back_from_a_version_that_was_only_concluded_is_not_certain(self, world: World) -> None:
        stage(world)
        back = assumed("3.9", "2.6")
        assert [each.certainty for each in seen(world, back).foretold] == [Certainty.CERTAIN]
        world.broker.commit("shop", {("users", 0): 1}, metadata="AgAAAAAAAAAA")
        concluded = assumed(None, "2.6")
        assert [each.certainty for each in seen(world, concluded).foretold] == [Certainty.POSSIBLE]

    def test_the_source_refuses_the_applications_own_schema(self, world: World) -> None:
        world.registry.configure(SOURCE, {"compatibility": "BACKWARD"})
        stage(world)
        found = {each.code: each for each in seen(world, assumed(to="3.9")).foretold}
        assert found["SRF004"].certainty is Certainty.POSSIBLE  # no row was looked at
        assert found["SRF004"].schema_ids == (2,)
        refused = found["SRF016"]
        assert (refused.severity, refused.certainty) == (Severity.BREAKS_ON_UPGRADE, Certainty.CERTAIN)
        assert "the registry will refuse it (it is not BACKWARD" in refused.explanation
        assert refused.first[0].startswith("Before the upgrade, give the store a filled changelog of its own")

    def test_a_registry_that_may_not_be_asked_is_not_told_to_take_it(self, world: World) -> None:
        stage(world)
        world.registry.intercept(Fault(path="/compatibility/subjects/users-value/", action=Answer(status=403)))
        forecast = seen(world, assumed(to="3.9"))
        found = {each.code: each for each in forecast.foretold}
        assert "whether the registry accepts the schema. If it does not (409)" in found["SRF016"].explanation
        assert "whether users-value would accept the schema" in [
            each.what for each in forecast.skipped if each.could_hide
        ]

    def test_a_source_that_takes_it_has_it_as_its_latest_version(self, world: World) -> None:
        stage(world)
        world.registry.configure(SOURCE, {"compatibility": "NONE"})
        found = {each.code: each for each in seen(world, assumed(to="3.9")).foretold}
        assert (found["SRF016"].severity, found["SRF016"].certainty) == (Severity.NOTE, Certainty.CERTAIN)

    def test_an_application_that_writes_the_producers_schema_has_nothing_to_lose(self, world: World) -> None:
        stage(world, phantom=(WRITER,))
        assert told(seen(world, assumed(to="3.9"))) == []

    @pytest.mark.parametrize("optimization", ["none", "merge.repartition.topics"])
    def test_a_store_with_a_changelog_of_its_own_crosses_unharmed(self, optimization: str, world: World) -> None:
        stage(world)
        assert told(seen(world, assumed(to="3.9", optimization=optimization))) == []
        assert told(seen(world, assumed(to="3.9"), AGGREGATE)) == []
