"""What the kernel must never do: panic into Python, keep what it was given, or disturb who uses it at the same time."""

from __future__ import annotations

import datetime
import decimal
import gc
import json
import pickle
import resource
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pyarrow as pa
import pytest

from srfix.serde import native
from srfix.serde.arrow import to_arrow
from srfix.serde.batches.rows import deserialize_many
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import SrfixError
from srfix.serde.interface import SerdeContext
from srfix.serde.resolve.policies import ById
from srfix.serde.serializer import AvroSerializer
from tests.serde.avro_schemas import DATE, MICROS, UUID, array, enum, map_of, record
from tests.serde.avro_schemas import decimal as decimal_type
from tests.serde.fakes import MemoryRegistry
from tests.serde.test_forking import in_child
from tests.serde.test_native import ask

pytestmark = pytest.mark.skipif(native.kernel() is None, reason="the kernel is not there")

VALUE: Final = SerdeContext("t")
TEXT: Final = json.dumps(
    record(
        B="boolean", I="int", L=["null", "long"], F="float", S="string", Y="bytes", E=enum("ON", "OFF"), D=DATE, T=MICROS,
        N=decimal_type(50, 2), U=UUID, M=map_of(record("P", A=["null", "int"])), R=array("P"), X=["null", "string", "double"],
    )
)  # fmt: skip
BODY: Final = (
    b"\1\x0e\2\x10\0\0\xc0\x3f\6tea\4\0\1\0\x80\x40\x80\x80\xb8\x99\xd9\xf5\xdf\5\4\4\xd2"
    b"H12345678-1234-5678-1234-567812345678\4\2k\2\2\2l\0\0\4\2\6\2\5\0\2\6tea"
)
COLUMNS: Final = parse_columns(
    "B BOOLEAN, I BIGINT, L BIGINT, F DOUBLE, S STRING, Y BYTES, E STRING, D DATE, N DECIMAL(50, 2), "
    "M MAP<STRING, STRUCT<A INT>>, R ARRAY<STRUCT<A INT>>, GONE STRING"
)
_ROUNDS: Final = 4
_TIMES: Final = 150


class _Serdes:
    """All that reads and writes, with something to read and write."""

    def __init__(self) -> None:
        self.registry = registry = MemoryRegistry()
        registry.seed("t-value", TEXT)
        self.payload = payload = b"\0\0\0\0\1" + BODY
        self.deserialize = AvroDeserializer(ById(registry))
        self.in_columns = AvroDeserializer(ById(registry), columns=COLUMNS)
        self.serialize = AvroSerializer.for_schema(registry, TEXT)
        self.row = self.deserialize.row(payload, VALUE)
        self.payloads: list[bytes | None] = [payload, None, payload, payload[:-3], payload, b"junk", payload]
        self.array = pa.array(self.payloads, pa.binary())


@pytest.fixture
def serdes() -> _Serdes:
    return _Serdes()


class Meddler:
    """A key that is `A` to whoever looks for that, and does something when it is compared."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        self._meddle = meddle

    def __hash__(self) -> int:
        return hash("A")

    def __eq__(self, other: object) -> bool:
        self._meddle()
        return other == "A"


class TestRowsThatChange:
    def meddled(self, row: dict[str, Any], meddle: Callable[[dict[Any, Any]], object]) -> dict[str, Any]:
        entries: dict[Any, Any] = {}
        entries |= {name: {Meddler(lambda: meddle(entries)): 1} for name in ("one", "two", "three")}
        return {**row, "M": entries}

    @pytest.mark.parametrize(
        "meddle",
        [
            pytest.param(lambda entries: entries.update({f"more{len(entries)}": {"A": 1}}), id="grows"),
            pytest.param(lambda entries: entries.clear(), id="is emptied"),
            pytest.param(
                lambda entries: entries.update({object(): entries.pop(next(iter(entries)))}), id="has other keys"
            ),
            pytest.param(lambda entries: entries.update({key: {"A": None} for key in entries}), id="has other values"),
        ],
    )
    def test_a_map_that_changes_while_it_is_written_is_no_panic(
        self, serdes: _Serdes, meddle: Callable[[dict[Any, Any]], object]
    ) -> None:
        for _ in range(3):
            with suppress(SrfixError, RuntimeError):
                serdes.serialize(self.meddled(serdes.row, meddle), VALUE)

    def test_a_list_that_changes_while_it_is_written_is_refused_or_whole(self, serdes: _Serdes) -> None:
        items: list[Any] = []
        items += [{Meddler(lambda: items.append({"A": 5})): 1}, {"A": 2}]
        written = serdes.serialize({**serdes.row, "R": items}, VALUE)
        assert written is not None
        found = serdes.deserialize.row(written, VALUE)["R"]
        assert isinstance(found, list)
        assert found[:2] == [{"A": 1}, {"A": 2}]

    def test_what_a_key_raises_is_raised(self, serdes: _Serdes) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            serdes.serialize({**serdes.row, "M": {"one": {Meddler(interrupt): 1}}}, VALUE)

    def test_a_row_is_written_within_a_row(self, serdes: _Serdes) -> None:
        serialize = serdes.serialize
        row: dict[str, Any] = serdes.row
        whole = serialize(row, VALUE)
        inner: list[bytes | None] = []
        outer = serialize(
            {**row, "M": {**row["M"], "k": {Meddler(lambda: inner.append(serialize(row, VALUE))): 1}}}, VALUE
        )
        assert outer == whole
        assert inner
        assert set(inner) == {whole}


WORK: Final[dict[str, Callable[[_Serdes], object]]] = {
    "a row is read": lambda use: use.deserialize(use.payload, VALUE),
    "a row is read into columns": lambda use: use.in_columns(use.payload, VALUE),
    "a bad row is read": lambda use: _refused(use.deserialize, use.payload[:-3]),
    "many are read": lambda use: list(deserialize_many(use.payloads, VALUE, use.deserialize, on_error="quarantine")),
    "a list is read into a batch": lambda use: to_arrow(use.payloads, VALUE, use.in_columns, on_error="quarantine"),
    "an array is read into a batch": lambda use: to_arrow(use.array, VALUE, use.in_columns, on_error="quarantine"),
    "a row is written": lambda use: use.serialize(use.row, VALUE),
    "a bad row is written": lambda use: _refused(use.serialize, {**use.row, "R": [{"A": 1}, {"A": 2**40}]}),
    "decoders come and go": lambda use: AvroDeserializer(ById(use.registry), columns=COLUMNS)(use.payload, VALUE),
    "encoders come and go": lambda use: AvroSerializer.for_schema(use.registry, TEXT)(use.row, VALUE),
}
"""What is done again and again."""


def _refused(call: Callable[[Any, SerdeContext], object], given: object) -> None:
    with pytest.raises(SrfixError):
        call(given, VALUE)


def few(*quick: str) -> list[Any]:
    """The names of what is done, of which those that are not named are slow."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in WORK]


class TestMemory:
    @pytest.mark.parametrize("work", few("a bad row is read"))
    def test_nothing_is_kept_of_what_was_read_or_written(self, serdes: _Serdes, work: str) -> None:
        grown = []
        for _ in range(_ROUNDS):  # the first ones warm up
            before = _held(serdes)
            for _ in range(_TIMES):
                WORK[work](serdes)
            grown.append({name: count - before[name] for name, count in _held(serdes).items()})
        # A leak shows in every round; what other tests' threads take or free meanwhile, in some.
        least = {name: min((growth[name] for growth in grown), key=abs) for name in before}
        assert {name: growth for name, growth in least.items() if abs(growth) > _TIMES * 0.75} == {}

    @pytest.mark.slow
    def test_the_process_does_not_grow(self, serdes: _Serdes) -> None:

        def work() -> None:
            for _ in range(150):
                for call in WORK.values():
                    call(serdes)

        work()
        work()
        before = _resident_bytes()
        for _ in range(4):
            work()
        assert _resident_bytes() - before < 8 << 20


def _held(serdes: _Serdes) -> dict[str, int]:
    """How many blocks Python has, and how often what everybody shares is referred to."""
    serdes.registry.calls.clear()  # the fake remembers them
    serdes.registry.subjects.clear()
    gc.collect()
    shared = {
        "None": None, "True": True, "0": 0, "the empty bytes": b"", "the name of a field": sys.intern("B"),
        "a symbol": sys.intern("ON"), "the payload": serdes.payload, "the row": serdes.row, "a list of it": serdes.row["R"],
        "UTC": datetime.UTC, "Decimal": decimal.Decimal, "datetime": datetime.datetime, "date": datetime.date,
    }  # fmt: skip
    return {"blocks": sys.getallocatedblocks(), **{name: sys.getrefcount(value) for name, value in shared.items()}}


def _resident_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class TestThreads:
    def test_threads_share_decoders_and_encoders(self, serdes: _Serdes) -> None:
        expected = {name: repr(work(serdes)) for name, work in WORK.items()}
        wrong: list[str] = []

        def run(names: list[str]) -> None:
            for _ in range(20):
                wrong.extend(name for name in names if repr(WORK[name](serdes)) != expected[name])

        names = list(WORK)
        _in_threads([partial(run, names[number:] + names[:number]) for number in range(4)])
        assert not wrong

    @pytest.mark.slow
    def test_a_list_of_payloads_may_change_while_it_is_read(self, serdes: _Serdes) -> None:
        payloads: list[bytes | None] = [serdes.payload] * 2_000
        stop = threading.Event()

        def change() -> None:
            while not stop.is_set():
                del payloads[500:]
                payloads.extend([None, b"x", serdes.payload] * 500)

        def read() -> None:
            try:
                for _ in range(60):
                    for serde in (serdes.deserialize, serdes.in_columns):
                        rows = serde._read_ahead(payloads, 0, VALUE)  # type: ignore[attr-defined]  # the kernel's
                        assert all(isinstance(row, dict) for row in rows)
                    batch = to_arrow(list(payloads), VALUE, serdes.in_columns, on_error="quarantine")
                    batch.validate(full=True)
            finally:
                stop.set()

        _in_threads([change, read])

    def test_a_small_stack_holds_a_row_that_nests_as_deep_as_any_may(self) -> None:
        registry = MemoryRegistry()
        text = '{"type":"record","name":"N","fields":[{"name":"next","type":["null","N"]}]}'
        schema_id = registry.seed("n", text)
        deserialize = AvroDeserializer(ById(registry))
        payload = b"\0" + schema_id.to_bytes(4, "big") + b"\2" * 480 + b"\0"
        before = threading.stack_size(1 << 20)
        try:
            _in_threads([lambda: deserialize(payload, VALUE)])
        finally:
            threading.stack_size(before)


class TestDatesAndTimes:
    """The kernel makes them by the functions that `datetime` gives to C."""

    @pytest.mark.parametrize(
        "moment",
        [
            datetime.datetime.min.replace(tzinfo=datetime.UTC),
            datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=datetime.UTC),
            datetime.datetime(2000, 2, 29, 12, tzinfo=datetime.UTC),
            datetime.datetime.max.replace(tzinfo=datetime.UTC),
        ],
    )
    def test_any_moment_is_read_as_it_was_written(self, serdes: _Serdes, moment: datetime.datetime) -> None:
        payload = serdes.serialize({**serdes.row, "T": moment, "D": moment.date()}, VALUE)
        assert payload is not None
        row = serdes.deserialize.row(payload, VALUE)
        assert (row["T"], row["D"]) == (moment, moment.date())
        assert (type(row["T"]), type(row["D"])) == (datetime.datetime, datetime.date)
        assert getattr(row["T"], "tzinfo", None) is datetime.UTC

    @pytest.mark.parametrize(("made", "field"), [("datetime", "T"), ("date", "D")])
    def test_a_class_in_the_place_of_theirs_is_called(self, made: str, field: str) -> None:
        """As freezegun puts one there."""
        code = (
            "import datetime; from tests.serde.test_native_safety import _Serdes, pa\n"
            "pa.array([1])  # imports pandas, which needs theirs\n"
            f"theirs = datetime.{made}; datetime.{made} = type('Stand', (theirs,), {{}})\n"
            f"value = _Serdes().row['{field}']; print(type(value).__name__, isinstance(value, theirs))"
        )
        assert ask(None, code=code) == (0, "Stand True")

    def test_a_forked_child_reads_them(self, serdes: _Serdes) -> None:
        assert in_child(lambda: _same_row(serdes)) == ""


class TestDecimals:
    """The kernel lays them out as `_decimal` does, or has Python's class make them."""

    @pytest.mark.parametrize(
        "text", ["0.00", "-0.01", "9.99", "1E+2", f"{10**19 - 1}.00", f"-{10**19}.01", f"{2**127 - 1}", f"{10**47}.01"]
    )
    def test_any_decimal_is_read_as_it_was_written(self, serdes: _Serdes, text: str) -> None:
        wanted = decimal.Decimal(text).quantize(decimal.Decimal("0.01"), context=decimal.Context(prec=60))
        payload = serdes.serialize({**serdes.row, "N": wanted}, VALUE)
        assert payload is not None
        found = serdes.deserialize.row(payload, VALUE)["N"]
        assert isinstance(found, decimal.Decimal)
        assert (type(found), repr(found), hash(found)) == (decimal.Decimal, repr(wanted), hash(wanted))
        assert pickle.loads(pickle.dumps(found)) == wanted
        assert (found + 1, found.as_tuple(), -found) == (wanted + 1, wanted.as_tuple(), -wanted)
        assert (sys.getsizeof(found), gc.is_tracked(found)) == (sys.getsizeof(wanted), gc.is_tracked(wanted))

    @pytest.mark.parametrize(
        ("before", "name"),
        [
            ("import decimal; decimal.Decimal = type('Stand', (decimal.Decimal,), {})", "Stand"),
            ("import sys; sys.modules['_decimal'] = None", "Decimal"),
        ],
        ids=["another class", "decimal in Python"],
    )
    def test_python_makes_those_of_another_layout(self, before: str, name: str) -> None:
        code = (
            f"{before}\nimport json; from srfix_kernel import Decoder\n"
            "number = dict(kind='decimal', size=0, scale=2, precision=0, to_scale=0)\n"
            "text = dict(wires=[dict(kind='bytes')], reads=[number], root=0, wire_root=0, levels=9, most_bytes=None)\n"
            "made = Decoder(json.dumps(text).encode(), None).decode(b'\\4\\4\\xd2', 0)\n"
            "print(type(made).__name__, made)"
        )
        assert ask(None, code=code) == (0, f"{name} 12.34")

    def test_a_forked_child_reads_them(self, serdes: _Serdes) -> None:
        assert in_child(lambda: _same_row(serdes)) == ""


class TestKeysOfRows:
    """The kernel takes the entries of a row in turn, as long as they come in the order of the fields."""

    @pytest.mark.parametrize("first", range(3))
    def test_rows_of_any_order_are_written_alike(self, serdes: _Serdes, first: int) -> None:
        names = list(serdes.row)
        turned = [*names[first:], *names[:first]]
        for keys in (turned, turned[::-1], ["".join(list(name)) for name in turned]):
            assert serdes.serialize({key: serdes.row[key] for key in keys}, VALUE) == serdes.payload

    def test_a_key_that_is_gone_and_another_that_is_nobodys_are_refused(self, serdes: _Serdes) -> None:
        for name in serdes.row:
            lacking = {key: value for key, value in serdes.row.items() if key != name}
            for row in (lacking, {**lacking, "no field": 1}):
                with suppress(SrfixError):
                    written = serdes.serialize(row, VALUE)
                    assert written is not None
                    assert serdes.deserialize.row(written, VALUE)[name] is None


def _same_row(serdes: _Serdes) -> None:
    assert serdes.deserialize(serdes.payload, VALUE) == serdes.row


class TestLookUp:
    """A call finds the first programs in another place than the rest."""

    def test_more_schemas_than_have_a_place_of_their_own(
        self, serdes: _Serdes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ids = [serdes.registry.seed("t-value", json.dumps(record(**{f"F{number}": "int"}))) for number in range(9)]
        payloads = [bytes([0, 0, 0, 0, schema_id, 2]) for schema_id in ids]
        rows = [serdes.deserialize(payload, VALUE) for payload in payloads]
        assert rows == [{f"F{number}": 1} for number in range(9)]
        monkeypatch.setattr(serdes.deserialize, "_call", None)
        assert [serdes.deserialize(payload, VALUE) for payload in payloads] == rows

    @pytest.mark.parametrize("topic", [None, 1, b"t", "t ", "\ud800"])
    def test_another_topic_is_not_taken_for_one_that_is_known(
        self, serdes: _Serdes, monkeypatch: pytest.MonkeyPatch, topic: Any
    ) -> None:
        monkeypatch.setattr(serdes.deserialize, "_call", lambda *given: given)
        ctx = SerdeContext("t")
        ctx.topic = topic
        assert serdes.deserialize(serdes.payload, ctx) == (serdes.payload, ctx)

    def test_a_topic_of_the_same_letters_is_the_same(self, serdes: _Serdes, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(serdes.deserialize, "_call", None)
        ctx = SerdeContext("t")
        ctx.topic = type("Topic", (str,), {})("t")
        assert serdes.deserialize(serdes.payload, ctx) == serdes.row


def _in_threads(calls: list[Callable[[], object]]) -> None:
    """All at once; what one of them raises is raised, a panic too."""
    raised: list[BaseException] = []

    def run(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised again below
            raised.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive()
    for error in raised:
        raise error


class TestInterrupts:
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    @pytest.mark.parametrize("work", few("many are read"))
    def test_an_interrupt_comes_through_and_spoils_nothing(self, serdes: _Serdes, work: str) -> None:
        class Interrupt(BaseException):
            pass

        fired: list[int] = []

        def interrupt(number: int, frame: FrameType | None) -> None:
            fired.append(number)
            raise Interrupt

        expected, came_through = repr(WORK[work](serdes)), 0
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            # Python itself drops one that comes while a finalizer or a callback of the collector runs.
            for _ in range(200):
                if came_through == 15:
                    break
                fired.clear()
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.002)
                    while not fired:
                        WORK[work](serdes)
                except Interrupt:
                    came_through += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert came_through == 15
        assert repr(WORK[work](serdes)) == expected

    @pytest.mark.slow
    def test_what_a_finalizer_does_between_rows_spoils_nothing(self, serdes: _Serdes) -> None:
        whole = serdes.serialize(serdes.row, VALUE)
        ran = []

        class Finalized:
            def __init__(self) -> None:
                self.self = self  # only the collector, which runs at any allocation, finds it

            def __del__(self) -> None:
                ran.append(serdes.deserialize(serdes.payload, VALUE) == serdes.row)
                ran.append(serdes.serialize(serdes.row, VALUE) == whole)
                raise ValueError("a finalizer's own")

        threshold = gc.get_threshold()
        hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
        gc.set_threshold(50)
        try:
            for _ in range(300):
                Finalized()
                assert serdes.deserialize(serdes.payload, VALUE) == serdes.row
                assert serdes.serialize(serdes.row, VALUE) == whole
                assert to_arrow(serdes.payloads, VALUE, serdes.in_columns, on_error="quarantine").num_rows == 7
        finally:
            gc.set_threshold(*threshold)
            sys.unraisablehook = hook
        assert ran
        assert all(ran)
