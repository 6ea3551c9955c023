"""What was relaxed is put back, also where another run has put it back a moment before."""

from __future__ import annotations

from srfix.recovery.actions import restore_config, restore_mode, soft_delete
from srfix.recovery.facts import read_subject_state
from srfix.serde.registry import RegistryClient, Schema
from srfix.serde.subjects import Subject
from tests.recovery.staging import PHANTOM


class TestWhatIsGoneAlready:
    def test_no_configuration_stays_none(self, client: RegistryClient) -> None:
        restore_config(client, Subject(PHANTOM), None)
        assert client.config(PHANTOM) is None

    def test_no_mode_stays_none(self, client: RegistryClient) -> None:
        restore_mode(client, Subject(PHANTOM), None)
        assert client.mode(PHANTOM) is None

    def test_one_that_is_there_goes(self, client: RegistryClient) -> None:
        client.set_config(PHANTOM, {"compatibility": "NONE"})
        client.set_mode(PHANTOM, "READONLY")
        restore_mode(client, Subject(PHANTOM), None)
        restore_config(client, Subject(PHANTOM), None)
        assert (client.config(PHANTOM), client.mode(PHANTOM)) == (None, None)

    def test_a_version_that_is_soft_deleted_stays_so(self, client: RegistryClient) -> None:
        subject = Subject("alone-value")
        schema_id = client.register(subject, Schema(text='"string"'))
        soft_delete(client, subject, 1)
        soft_delete(client, subject, 1)
        (version,) = read_subject_state(client, subject).versions
        assert (version.schema_id, version.deleted) == (schema_id, True)
