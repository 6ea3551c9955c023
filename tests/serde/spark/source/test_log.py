"""The log of a topic, without a broker."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import cast

from confluent_kafka.admin import AdminClient

from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.spark.source.log import TopicLog


def test_a_log_in_that_was_refused_before_does_not_end_a_later_wait() -> None:
    log, answer = TopicLog({"bootstrap.servers": "b:9092"}, "users", Isolation.READ_COMMITTED), Future[str]()
    log._client.authentication_failed = True
    log._admin = cast("AdminClient", SimpleNamespace(poll=lambda _timeout_s: answer.set_result("late")))
    assert log._answer(answer) == "late"
