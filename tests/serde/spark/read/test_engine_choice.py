"""Which engine reads a plan: the table, its words, and that nobody is asked twice. Spark is asked in tests/spark."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

import pytest

from srfix.serde import EngineRefusedError, JarMissingError, WorkerPackageError
from srfix.serde.spark import Engine, choose_engine, choosing
from tests.serde.avro_schemas import record
from tests.serde.spark.read.jvm.plans import plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXACT = plan_of("A INT", record(a="int"))
INEXACT = plan_of("A STRING", record(a="double"))
MANY = plan_of("A INT", *(record(a="int", **{f"f{n}": "int" for n in range(number)}) for number in range(31)))
LEFT = "1 schemas (1) have shapes beyond the 30 that Spark compiles well, so only the arrow engine reads them"
WHY_NOT = "Schema id 1: column A (STRING), writer type double: the text of a floating-point number depends on the JVM."
NO_SRFIX = "The arrow engine runs on the workers, but they lack srfix: No srfix there."


class FakeSession:
    """What a cluster answers."""

    def __init__(self, *, has_avro: bool = True, lacking: str | None = None, unbounded: str | None = None) -> None:
        self.unbounded = unbounded
        self.has_avro = has_avro
        self.lacking = lacking
        self.probes = 0


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    def check_session(session: FakeSession, *, kafka: bool) -> None:
        if not session.has_avro:
            raise JarMissingError("Spark lacks the jar spark-avro.", packages=("a:b:1",))

    def probe(session: FakeSession) -> str | None:
        session.probes += 1
        return session.lacking

    monkeypatch.setattr(choosing, "check_session", check_session)
    monkeypatch.setattr(choosing, "unbounded", lambda session, _: session.unbounded)
    monkeypatch.setattr(choosing, "unending", lambda _, __: None)
    monkeypatch.setattr(choosing, "_probe", probe)
    monkeypatch.setattr(choosing, "lacks_arrow", lambda: None)
    monkeypatch.setattr(choosing, "require_arrow", lambda: None)


def session_of(fake: FakeSession) -> SparkSession:
    return cast("SparkSession", fake)


class TestManyShapes:
    def test_those_beyond_the_limit_are_read_on_the_workers_and_the_rest_stay(self) -> None:
        choice = choose_engine(MANY, session_of(FakeSession()))
        assert str(choice).startswith("engine jvm with arrow for unknown ids")
        assert LEFT in str(choice)

    @pytest.mark.parametrize("engine", ["auto", "jvm"])
    def test_without_srfix_there_nothing_is_left_to_nobody(self, engine: Engine) -> None:
        with pytest.raises(EngineRefusedError) as caught:
            choose_engine(MANY, session_of(FakeSession(lacking="No srfix there.")), engine)
        assert caught.value.reasons == (f"{LEFT}.", NO_SRFIX)


class TestUnboundedSession:
    """A record of ten bytes ends a JVM in which nothing bounds what Avro believes of a length."""

    def test_auto_takes_the_arrow_engine_and_warns_once(self, caplog: pytest.LogCaptureFixture) -> None:
        session = session_of(FakeSession(unbounded="No bounds here"))
        with caplog.at_level(logging.WARNING, logger="srfix.serde.spark"):
            choices = [choose_engine(EXACT, session) for _ in range(2)]
        assert {str(choice) for choice in choices} == {"engine arrow: the jvm engine cannot be used: No bounds here."}
        assert caplog.messages == ['No bounds here. engine="jvm" reads nevertheless.']

    def test_the_jvm_engine_that_was_asked_for_warns_and_reads(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING, logger="srfix.serde.spark"):
            choice = choose_engine(EXACT, session_of(FakeSession(unbounded="No bounds here")), "jvm")
        assert (choice.engine, choice.fallback) == ("jvm", True)
        assert caplog.messages == ["No bounds here. srfix reads nevertheless, because you named the engine."]


class TestChooseEngine:
    @pytest.mark.parametrize(
        ("engine", "exact", "has_avro", "has_srfix", "expected"),
        [
            ("auto", True, True, True, "engine jvm with arrow for unknown ids: Spark's own Avro reads every known"),
            (
                "auto",
                True,
                True,
                False,
                "engine jvm: Spark's own Avro reads every known schema exactly; payloads that the plan",
            ),
            ("auto", False, True, True, f"engine arrow: the jvm engine cannot be used: {WHY_NOT}"),
            ("auto", True, False, True, "engine arrow: the jvm engine cannot be used: Spark lacks the jar spark-avro."),
            ("jvm", True, True, True, "engine jvm with arrow for unknown ids: it was requested"),
            ("arrow", True, True, True, "engine arrow: it was requested"),
            ("arrow", False, False, False, "engine arrow: it was requested"),
        ],
    )
    def test_the_engine_and_why(
        self, engine: Engine, exact: bool, has_avro: bool, has_srfix: bool, expected: str
    ) -> None:
        session = session_of(FakeSession(has_avro=has_avro, lacking=None if has_srfix else "No srfix there."))
        choice = choose_engine(EXACT if exact else INEXACT, session, engine)
        assert str(choice).startswith(expected)
        assert (choice.read is None) == (choice.engine == "arrow")

    def test_neither_engine_says_both_reasons(self) -> None:
        session = session_of(FakeSession(lacking="No srfix there."))
        with pytest.raises(EngineRefusedError, match=r"Neither engine can read this plan here:\n-") as caught:
            choose_engine(INEXACT, session)
        assert caught.value.reasons == (WHY_NOT, NO_SRFIX)

    def test_neither_jar_nor_package_says_both(self) -> None:
        with pytest.raises(EngineRefusedError) as caught:
            choose_engine(EXACT, session_of(FakeSession(has_avro=False)), workers_have_srfix=False)
        assert caught.value.reasons[0] == "Spark lacks the jar spark-avro."
        assert "workers_have_srfix=False says so" in caught.value.reasons[1]

    def test_the_jvm_engine_that_was_asked_for_refuses(self) -> None:
        with pytest.raises(EngineRefusedError, match="cannot read this plan exactly"):
            choose_engine(INEXACT, session_of(FakeSession()), "jvm")
        with pytest.raises(JarMissingError):
            choose_engine(EXACT, session_of(FakeSession(has_avro=False)), "jvm")

    def test_the_arrow_engine_without_srfix_refuses_where_it_is_known(self) -> None:
        with pytest.raises(WorkerPackageError, match="The arrow engine runs on the workers, but"):
            choose_engine(EXACT, session_of(FakeSession()), "arrow", workers_have_srfix=False)

    def test_workers_are_asked_once_for_each_session(self, caplog: pytest.LogCaptureFixture) -> None:
        first, second = FakeSession(), FakeSession()
        with caplog.at_level(logging.INFO, logger="srfix.serde.spark"):
            choices = [choose_engine(EXACT, session_of(session)) for session in (first, first, second)]
        assert (first.probes, second.probes) == (1, 1)
        assert caplog.messages == [str(choice) for choice in choices]
        for told in (True, False):
            assert choose_engine(EXACT, session_of(second), workers_have_srfix=told).fallback is told
        assert second.probes == 1

    def test_a_bounded_read_is_the_jvms_alone_and_asks_nobody(self) -> None:
        """A stage of Python that does nothing costs 0.6 of what the JVM's decoding costs."""
        session = FakeSession()
        for engine in ("auto", "jvm"):
            choice = choose_engine(EXACT, session_of(session), engine, unknown_ids="fail")
            assert (choice.engine, choice.fallback) == ("jvm", False)
            assert (
                'a row is bad if the plan does not know its schema id (unknown_ids="resolve" looks the id up)'
                in str(choice)
            )
        assert session.probes == 0
        assert choose_engine(EXACT, session_of(session), unknown_ids="resolve").fallback

    def test_but_not_where_the_plan_knows_no_id_or_leaves_some_to_the_workers(self) -> None:
        for plan in (plan_of("A INT"), MANY):
            assert choose_engine(plan, session_of(FakeSession()), unknown_ids="fail").fallback

    def test_workers_that_lack_srfix_are_asked_again_for_it_may_be_brought_to_them(self) -> None:
        session = FakeSession(lacking="No srfix there.")
        assert not choose_engine(EXACT, session_of(session)).fallback
        session.lacking = None
        assert choose_engine(EXACT, session_of(session)).fallback
