"""The same application on each serde: what it leaves in the registry, and what it can read after its state was lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from parts.streams.application import lose_state
from parts.streams.model import SecondAnswer, SerdeKind, StreamsError
from srfix.fixtures.broker.kraft.broker import KraftBroker
from tests.stack.streams_world import (
    ANN,
    ANN_ROW,
    World,
    deserialize,
    new_world,
    serialize,
)

pytestmark = pytest.mark.stack


def process_and_lose_state(world: World) -> None:
    """Ann is processed, committed and stored; then the state directory is gone."""
    world.produce(("ann", ANN))
    with world.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(world.setup.users)
        assert application.query("ann") is not None
        assert set(application.serde_calls) == {
            deserialize(world.setup.users),
            serialize(world.changelog),
            deserialize(world.changelog),
        }
    lose_state(world.setup)


class TestSerdesThatNeverAskASubject:
    @pytest.mark.parametrize("kind", [SerdeKind.PLAIN_PROJECTED, SerdeKind.SRFIX_BY_ID])
    def test_they_make_the_phantom_subject_and_read_the_writers_rows_all_the_same(
        self, kind: SerdeKind, broker: KraftBroker, tmp_path: Path
    ) -> None:
        with new_world(broker, tmp_path, serde=kind) as world:
            process_and_lose_state(world)
            (internal_id,) = world.ids(world.phantom)
            assert internal_id != world.writer_id
            with world.start() as application:
                application.wait_for_state("RUNNING")
                assert application.serde_calls == ()
                assert application.query("ann") == ANN_ROW
                assert application.join("ann") == ANN_ROW
            assert world.ids(world.phantom) == {internal_id}


class TestSymmetricSerdes:
    @pytest.mark.parametrize("kind", [SerdeKind.CONNECT, SerdeKind.PLAIN])
    def test_they_write_back_the_writers_schema_which_masks_the_defect(
        self, kind: SerdeKind, broker: KraftBroker, tmp_path: Path
    ) -> None:
        with new_world(broker, tmp_path, serde=kind) as world:
            process_and_lose_state(world)
            assert world.ids(world.phantom) == {world.writer_id}
            with world.start() as application:
                application.wait_for_state("RUNNING")
                assert application.query("ann") == ANN
                assert application.join("ann") == ANN


class TestUnderOneSubject:
    def test_it_fails_as_connects_converter_does(self, broker: KraftBroker, tmp_path: Path) -> None:
        with new_world(broker, tmp_path, serde=SerdeKind.SRFIX_ONE_SUBJECT) as world:
            process_and_lose_state(world)
            with world.start() as application:
                application.wait_for_state("RUNNING")
                with pytest.raises(StreamsError) as caught:
                    application.query("ann")
                (cause,) = caught.value.causes
                assert cause.class_name == "org.apache.kafka.common.errors.SerializationException"
                assert (
                    f"Error retrieving Avro value schema version for id {world.writer_id}: the subject does not"
                    f" hold its schema ('{world.phantom}', error code 40403)." in cause.message
                )
                with pytest.raises(StreamsError) as caught:
                    application.join("ann")
                assert caught.value.causes[-1] == cause
                application.wait_for_state("ERROR")


class TestDualSubject:
    @pytest.mark.parametrize("version", ["2.6.3", "2.7.0"])
    def test_it_never_fails_and_registers_nothing(self, version: str, broker: KraftBroker, tmp_path: Path) -> None:
        """Put in after the incident. Its subjects do not depend on the topic that Streams hands over."""
        with new_world(broker, tmp_path) as world:
            process_and_lose_state(world)
            content = world.registry.dump()
            world.registry.forget_requests()
            with world.start(replace(world.setup, serde=SerdeKind.SRFIX_DUAL_SUBJECT, version=version)) as application:
                application.wait_for_state("RUNNING")
                assert application.query("ann") == ANN_ROW
                assert application.join("ann") == ANN_ROW
                handed = world.changelog if version == "2.6.3" else world.setup.users
                assert application.second_answers == (answer(world, topic=handed),)
            assert world.registry.writes == 0
            assert world.registry.dump() == content

    def test_it_reads_what_it_has_stored_itself_under_the_changelogs_subject(
        self, broker: KraftBroker, tmp_path: Path
    ) -> None:
        with new_world(broker, tmp_path, serde=SerdeKind.SRFIX_DUAL_SUBJECT, version="2.7.0") as world:
            world.produce(("ann", ANN))
            with world.start() as application:
                application.wait_for_commit(world.setup.users)
                assert application.query("ann") == ANN_ROW
                assert application.second_answers == (answer(world, topic=world.setup.users),)
            assert world.ids(world.phantom) - {world.writer_id}
            assert world.ids(world.source) == {world.writer_id}

    def test_it_registers_when_asked_to(self, broker: KraftBroker, tmp_path: Path) -> None:
        with new_world(broker, tmp_path, compatibility="NONE") as world:
            process_and_lose_state(world)
            (internal_id,) = world.ids(world.phantom)
            with world.start(replace(world.setup, serde=SerdeKind.SRFIX_DUAL_SUBJECT_REGISTERING)) as application:
                application.wait_for_state("RUNNING")
                assert application.query("ann") == ANN_ROW
                told = answer(world, topic=world.changelog, registered_id=world.writer_id)
                assert application.second_answers == (told,)
            assert world.ids(world.phantom) == {internal_id, world.writer_id}

    def test_registering_before_the_first_write_has_the_application_s_own_schema_refused(
        self, broker: KraftBroker, tmp_path: Path
    ) -> None:
        """The source node reads before the store writes: the writer's schema is the subject's first version then."""
        with new_world(broker, tmp_path, serde=SerdeKind.SRFIX_DUAL_SUBJECT_REGISTERING) as world:
            world.produce(("ann", ANN))
            with world.start() as application:
                cause = application.wait_for_failure()[-1]
            assert "IncompatibleSchemaError" in cause.message
            assert world.phantom in cause.message
            assert world.ids(world.phantom) == {world.writer_id}

    def test_it_reads_what_it_may_not_register(self, broker: KraftBroker, tmp_path: Path) -> None:
        with new_world(broker, tmp_path) as world:
            process_and_lose_state(world)
            with world.start(replace(world.setup, serde=SerdeKind.SRFIX_DUAL_SUBJECT_REGISTERING)) as application:
                application.wait_for_state("RUNNING")
                assert application.query("ann") == ANN_ROW
                (told,) = application.second_answers
                assert told.registered_id is None
                assert told.refusal is not None
                assert "409" in told.refusal
            assert world.writer_id not in world.ids(world.phantom)


def answer(world: World, *, topic: str, registered_id: int | None = None) -> SecondAnswer:
    return SecondAnswer(
        schema_id=world.writer_id,
        topic=topic,
        first=world.phantom,
        second=world.source,
        registered_id=registered_id,
        refusal=None,
    )
