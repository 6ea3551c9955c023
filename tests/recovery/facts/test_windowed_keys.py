"""Windowed keys in a source topic: the framed key, and 8, 16 or 12 bytes behind it that only the topic as a whole explains."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.fixtures.broker.client import ProducedRecord
from srfix.recovery import CensusRequest, Examination
from srfix.recovery.facts.decoding import key_deserializer, key_without_window, window_of
from srfix.recovery.facts.keys_of_store import sample_keys
from srfix.serde import ById, DecodeError, Role, SerdeContext, Topic, Window, WindowKind
from srfix.serde.windowed import join
from srfix.serde.wire import frame_id
from tests.recovery.staging import PHANTOM, PHANTOM_KEY, W1, R
from tests.recovery.world import World, value, world_of

KEY = '{"type":"record","name":"Key","fields":[{"name":"id","type":"long"},{"name":"name","type":"string"}]}'
KEY_ID = 2
START = 1_600_000_000_000

times = st.integers(0, 4_000_000_000_000)
spans = st.integers(0, 10**9)
texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=20).map(str.encode)


def windows(kind: WindowKind) -> st.SearchStrategy[Window]:
    if kind is WindowKind.SESSION:
        return st.builds(lambda start, span: Window(start, start + span), times, spans)
    if kind is WindowKind.TIME_STORE:
        return st.builds(lambda start, number: Window(start, None, number), times, st.integers(0, 2**31 - 1))
    return st.builds(Window, times)


windowed = st.sampled_from(WindowKind).flatmap(lambda kind: st.tuples(st.just(kind), windows(kind)))


def framed(body: bytes) -> bytes:
    """A key of the schema "string" with less than 64 bytes."""
    return frame_id(1, bytes([2 * len(body)]) + body)


def reads(key: bytes) -> bool:
    """A reader of such keys: nothing may be left over."""
    return len(key) >= 6 and key[:5] == frame_id(1, b"") and len(key) == 6 + key[5] // 2


class TestRoundTrip:
    @given(key=texts.map(framed), window=windowed)
    def test_every_suffix_comes_off_again(self, key: bytes, window: tuple[WindowKind, Window]) -> None:
        kind, made = window
        assert key_without_window(join(key, made, kind), kind) == key

    @given(keys=st.lists(texts.map(framed), min_size=1, max_size=8), kind=st.sampled_from(WindowKind), data=st.data())
    def test_a_topic_of_windowed_keys_tells_its_kind(
        self, keys: list[bytes], kind: WindowKind, data: st.DataObject
    ) -> None:
        payloads = [join(key, data.draw(windows(kind)), kind) for key in keys]
        assert window_of(payloads, reads) is kind

    @given(keys=st.lists(texts.map(framed), max_size=8))
    def test_a_topic_of_plain_keys_has_none(self, keys: list[bytes]) -> None:
        assert window_of(keys, reads) is None


class TestWindowOf:
    def test_most_of_the_keys_decide(self) -> None:
        plain, in_window = framed(b"a"), join(framed(b"a"), Window(START), WindowKind.TIME)
        assert window_of([plain, in_window, in_window], reads) is WindowKind.TIME
        assert window_of([plain, plain, in_window], reads) is None
        assert window_of([plain, in_window], reads) is None

    @pytest.mark.parametrize("tail", [b"\xff" * 8, b"trailing", b"\x00" * 9, b"\x00\x00\x04" + bytes(5), b"\x01"])
    def test_bytes_that_are_no_plausible_time_are_no_window(self, tail: bytes) -> None:
        assert window_of([framed(b"a") + tail] * 3, reads) is None

    def test_a_session_that_ends_before_it_starts_is_none(self) -> None:
        tail = (START).to_bytes(8, "big") + (START + 1).to_bytes(8, "big")
        assert window_of([framed(b"a") + tail], reads) is None

    def test_nothing_tells_of_no_key(self) -> None:
        assert window_of([], reads) is None

    def test_a_key_that_is_not_windowed_among_windowed_ones_is_not_read(self, world: World) -> None:
        read = key_deserializer(ById(world.client()), WindowKind.TIME)
        with pytest.raises(DecodeError):
            read(b"\x00\x01", SerdeContext("users", Role.KEY))


WINDOWS = {
    WindowKind.TIME: Window(START),
    WindowKind.SESSION: Window(START, START + 5_000),
    WindowKind.TIME_STORE: Window(START, None, 3),
}


@pytest.fixture
def world() -> Iterator[World]:
    """Keys and values are registered under the phantom subjects."""
    with world_of({"users": 1}) as made:
        made.registry.seed("users-value", W1)
        made.registry.seed(PHANTOM, W1)
        assert made.registry.seed("users-key", KEY) == KEY_ID
        made.registry.seed(PHANTOM_KEY, KEY)
        made.sources = {"users-store": Topic("users")}
        yield made


def key_of(name: str) -> bytes:
    return frame_id(KEY_ID, b"\x02" + bytes([2 * len(name)]) + name.encode())


def fill(world: World, *keys: bytes) -> None:
    world.broker.produce(ProducedRecord(topic="users", partition=0, key=key, value=value(1)) for key in keys)
    world.commit("shop", users=len(keys))


def examined(world: World, *, whole: bool = False) -> Examination:
    return world.examine(decode_values=whole)


def codes(examination: Examination) -> set[tuple[str, str]]:
    return {(finding.code, finding.role.value) for finding in examination.diagnosis.findings}


class TestTheDiagnosis:
    @pytest.mark.parametrize("kind", WindowKind)
    @pytest.mark.parametrize("whole", [False, True])
    def test_windowed_keys_are_no_trailing_bytes(self, world: World, kind: WindowKind, whole: bool) -> None:
        fill(world, *(join(key_of(name), WINDOWS[kind], kind) for name in ("a", "bb", "ccc")))
        examination = examined(world, whole=whole)
        assert codes(examination) == {("SRF003", "key"), ("SRF003", "value")}
        assert not examination.diagnosis.is_inconclusive
        (facts,) = examination.facts
        assert facts.keys is not None
        assert facts.keys.window is kind

    def test_their_ids_are_missing_as_those_of_others(self, world: World) -> None:
        other = world.registry.seed("users-key", R)
        fill(world, join(frame_id(other, b"\x02\x02"), Window(START), WindowKind.TIME))
        assert ("SRF001", "key") in codes(examined(world))

    def test_one_that_does_not_decode_is_shown_with_its_window(self, world: World) -> None:
        broken = frame_id(KEY_ID, b"\x02\x80")
        rows = [join(key_of(name), Window(START), WindowKind.TIME) for name in ("a", "bb", "ccc")]
        fill(world, *rows, join(broken, Window(START), WindowKind.TIME))
        (finding,) = [f for f in examined(world).diagnosis.findings if f.code == "SRF013"]
        assert "--from-offset 3 --max-records 1 --role key --window time users`." in finding.next

    @pytest.mark.parametrize("whole", [False, True])
    def test_one_that_is_too_short_for_a_window_is_told_also_under_an_unknown_id(
        self, world: World, whole: bool
    ) -> None:
        rows = [join(key_of(name), Window(START), WindowKind.TIME) for name in ("a", "bb", "ccc")]
        fill(world, *rows, frame_id(99, b"x"))
        assert {("SRF011", "key"), ("SRF013", "key")} <= codes(examined(world, whole=whole))

    def test_bytes_behind_plain_keys_are_still_left_over(self, world: World) -> None:
        fill(world, key_of("a"), key_of("bb"), key_of("c") + b"\x00")
        (finding,) = [f for f in examined(world).diagnosis.findings if f.code == "SRF013"]
        assert "left over" in finding.explanation

    def test_a_verification_learns_the_window_and_reads_the_key(self, world: World) -> None:
        key = join(key_of("a"), Window(START), WindowKind.TIME)
        fill(world, key)
        client = world.client()
        census = world.engine.count(CensusRequest(topic=Topic("users"), partitions=(0,), committed=None))
        window = sample_keys(world.cluster, census, ById(client), (), more=False).window
        assert window is WindowKind.TIME
        row = key_deserializer(ById(client), window)(key, SerdeContext("users", Role.KEY))
        assert row == {"id": 1, "name": "a"}
