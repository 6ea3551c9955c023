"""Windowed keys: Kafka's `TimeWindowedSerializer`, `SessionWindowedSerializer`, `WindowKeySchema`, `SessionKeySchema`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.errors import DecodeError, SrfixError, TruncatedBodyError, UsageError
from srfix.serde.windowed import Window, WindowKind, join, split

MAX = 2**63 - 1
times = st.integers(0, MAX)
sessions = st.tuples(times, times).map(lambda pair: Window(min(pair), max(pair)))
windows = (
    times.map(lambda start: (WindowKind.TIME, Window(start)))
    | sessions.map(lambda window: (WindowKind.SESSION, window))
    | st.builds(
        lambda start, number: (WindowKind.TIME_STORE, Window(start, None, number)), times, st.integers(0, 2**31 - 1)
    )
)


class TestWindow:
    @pytest.mark.parametrize(
        ("window", "message"),
        [
            *(((start,), "The start of a window must be a whole number") for start in (-1, MAX + 1, True, 1.0, None)),
            ((0, -1), "The end of a window must be"),
            ((0, MAX + 1), "The end of a window must be"),
            ((5, 4), r"A window cannot end \(4\) before it starts \(5\)\.$"),
            ((0, None, -1), "The sequence number of a window must be"),
            ((0, None, 2**31), "The sequence number of a window must be"),
        ],
    )
    def test_what_no_window_can_be_is_refused(self, window: tuple[object, ...], message: str) -> None:
        with pytest.raises(UsageError, match=rf"^{message}"):
            Window(*window)  # type: ignore[arg-type]

    def test_the_size_gives_the_end(self) -> None:
        assert Window(60_000).with_size(60_000) == Window(60_000, 120_000)
        assert Window(MAX - 1).with_size(60_000) == Window(MAX - 1, MAX)  # TimeWindow's overflow check


class TestJoin:
    @pytest.mark.parametrize(
        ("kind", "window", "suffix"),
        [
            (WindowKind.TIME, Window(256), "0000000000000100"),
            (WindowKind.TIME, Window(256, 512), "0000000000000100"),  # the end is not written
            (WindowKind.SESSION, Window(256, 512), "00000000000002000000000000000100"),  # the end first
            (WindowKind.SESSION, Window(7, 7), "00000000000000070000000000000007"),
            (WindowKind.TIME_STORE, Window(256), "000000000000010000000000"),
            (WindowKind.TIME_STORE, Window(256, None, 3), "000000000000010000000003"),
        ],
    )
    def test_the_window_stands_behind_the_key(self, kind: WindowKind, window: Window, suffix: str) -> None:
        assert join(b"key", window, kind) == b"key" + bytes.fromhex(suffix)
        assert join(b"", window, kind) == bytes.fromhex(suffix)

    @pytest.mark.parametrize("kind", [WindowKind.TIME, WindowKind.SESSION])
    def test_a_sequence_number_is_only_for_stores(self, kind: WindowKind) -> None:
        with pytest.raises(UsageError, match=rf"A window key of the kind '{kind.value}' has no"):
            join(b"key", Window(1, 2, 3), kind)


class TestSplit:
    @given(st.binary(max_size=30), windows)
    def test_windows_come_back(self, key: bytes, written: tuple[WindowKind, Window]) -> None:
        kind, window = written
        assert split(join(key, window, kind), kind) == (key, window)

    @pytest.mark.parametrize(
        ("kind", "size"), [(WindowKind.TIME, 8), (WindowKind.SESSION, 16), (WindowKind.TIME_STORE, 12)]
    )
    def test_too_short_a_key_is_refused(self, kind: WindowKind, size: int) -> None:
        for short in (0, 3, size - 1):
            with pytest.raises(
                TruncatedBodyError, match=f"'{kind.value}' has at least {size} bytes, but this one has {short}"
            ):
                split(bytes(short), kind)
        assert split(bytes(size), kind)[0] == b""

    @pytest.mark.parametrize(
        ("kind", "suffix", "why"),
        [
            (WindowKind.TIME, "ffffffffffffffff", "The start of a window must be"),
            (WindowKind.SESSION, "8000000000000000" + "0000000000000001", "The end of a window must be"),
            (
                WindowKind.SESSION,
                "0000000000000001" + "0000000000000002",
                r"window cannot end \(1\) before it starts \(2\)",
            ),
            (WindowKind.TIME_STORE, "0000000000000001" + "ffffffff", "The sequence number of a window must be"),
        ],
    )
    def test_times_that_no_window_has_are_refused(self, kind: WindowKind, suffix: str, why: str) -> None:
        with pytest.raises(DecodeError, match=why):
            split(b"key" + bytes.fromhex(suffix), kind)

    @given(st.binary(max_size=40), st.sampled_from(WindowKind))
    def test_what_can_be_split_is_joined_to_the_same_bytes(self, payload: bytes, kind: WindowKind) -> None:
        try:
            key, window = split(payload, kind)
        except SrfixError:
            return
        assert join(key, window, kind) == payload
