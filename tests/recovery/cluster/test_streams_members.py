"""What Kafka Streams tells its group: bytes that Kafka 3.9.2 wrote (`SubscriptionInfo`, `AssignmentInfo`), of all versions."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.cluster.streams_members import decode_assignment, decode_subscription
from srfix.recovery.errors import FormatError

_TASKS = (
    "00000002" "0000000000000001" "0000000200000003"  # active: 0_1, 2_3
    "00000001" "0000000000000002" "00000001" "0005" "7573657273" "00000002"  # standby: 0_2, of users-2
)  # fmt: skip
_NAMED_TASKS = (
    "00000002" "000000000000000100000000" "000000020000000300000000"
    "00000001" "000000000000000200000000" "00000001" "0005" "7573657273" "00000002"
)  # fmt: skip
_HOSTS = "000000010002683100001f9000000002000575736572730000000100066c6f67696e7300000003"
_DICTIONARY = "000000020000000000066c6f67696e730000000100057573657273"
_BY_NUMBER = "000000010002683100001f900000000200000001000000010000000000000003"
_STANDBYS = "000000010002683200001f91000000010000000100000002"
_NUMBERED = f"{_DICTIONARY}{_BY_NUMBER}{_STANDBYS}00000000"
_END = "7fffffffffffffff"
ASSIGNMENTS = {
    1: f"00000001{_TASKS}",
    2: f"00000002{_TASKS}{_HOSTS}",
    3: f"000000030000000b{_TASKS}{_HOSTS}",
    4: f"000000040000000b{_TASKS}{_HOSTS}00000000",
    5: f"000000050000000b{_TASKS}{_DICTIONARY}{_BY_NUMBER}00000000",
    6: f"000000060000000b{_TASKS}{_NUMBERED}",
    **{each: f"{each:08x}0000000b{_TASKS}{_NUMBERED}{_END}" for each in range(7, 10)},
    **{each: f"{each:08x}0000000b{_NAMED_TASKS}{_NUMBERED}{_END}" for each in range(10, 12)},
}
_PROCESS = "00000000000000070000000000000009"
_PREVIOUS = "000000010000000000000001000000010000000000000002"
_ENDPOINT = "0000000768313a38303830"
_SUMS = "00000001000000000000000200000001fffffffffffffffe000000020000000000000005"
SUBSCRIPTIONS = {
    1: f"00000001{_PROCESS}{_PREVIOUS}",
    2: f"00000002{_PROCESS}{_PREVIOUS}{_ENDPOINT}",
    **{version: f"{version:08x}0000000b{_PROCESS}{_PREVIOUS}{_ENDPOINT}" for version in range(3, 7)},
    7: f"000000070000000b{_PROCESS}{_ENDPOINT}{_SUMS}",
    8: f"000000080000000b{_PROCESS}{_ENDPOINT}{_SUMS}01",
    9: f"000000090000000b{_PROCESS}{_ENDPOINT}{_SUMS}0100000000",
    10: f"0000000a0000000b{_PROCESS}{_ENDPOINT}"
    "000000020000000000000001fffffffffffffffeffff00000000000000020000000000000005ffff0100000000",
    11: f"0000000b0000000b{_PROCESS}{_ENDPOINT}"
    "000000020000000000000001fffffffffffffffeffff00000000000000020000000000000005ffff010000000000000001000000017a0000000161",
}


def in_assignment(info: str) -> bytes:
    """As `ConsumerProtocolAssignment` has it, with one topic of two partitions before."""
    topics = struct.pack(">hih5siii", 1, 1, 5, b"users", 2, 1, 3)
    return topics + struct.pack(">i", len(info) // 2) + bytes.fromhex(info)


def in_subscription(info: str) -> bytes:
    """As `ConsumerProtocolSubscription` has it, with two topics before and owned partitions behind."""
    topics = struct.pack(">hih5sh6s", 1, 2, 5, b"users", 6, b"logins")
    return topics + struct.pack(">i", len(info) // 2) + bytes.fromhex(info) + struct.pack(">i", 0)


class TestDecodeAssignment:
    @pytest.mark.parametrize("version", ASSIGNMENTS)
    def test_every_version_tells_the_tasks(self, version: int) -> None:
        assert decode_assignment(in_assignment(ASSIGNMENTS[version])) == (("0_1", "2_3"), ("0_2",))

    def test_a_task_of_a_named_topology_is_called_as_its_directory(self) -> None:
        info = (
            "0000000a0000000b00000001" "0000000000000001" "00000006" "006f0072006400650072" "0073"
            "00000000000000000000000000000000000000007fffffffffffffff"
        )  # fmt: skip
        assert decode_assignment(in_assignment(info)) == (("orders__0_1",), ())

    def test_a_task_stands_there_once_for_each_of_its_partitions(self) -> None:
        info = "0000000100000002" + 2 * "0000000000000001" + "00000000"
        assert decode_assignment(in_assignment(info)) == (("0_1",), ())

    @given(cut=st.integers(0, 170), version=st.sampled_from(sorted(ASSIGNMENTS)))
    def test_what_is_cut_short_is_refused(self, cut: int, version: int) -> None:
        whole = in_assignment(ASSIGNMENTS[version])
        with pytest.raises(FormatError):
            decode_assignment(whole[: min(cut, len(whole) - 1)])

    @given(stored=st.binary(max_size=80))
    def test_garbage_is_refused_or_read_and_nothing_else(self, stored: bytes) -> None:
        for decode in (decode_assignment, decode_subscription):
            try:
                decode(stored)
            except FormatError:
                continue

    def test_a_later_version_is_said(self) -> None:
        with pytest.raises(FormatError, match="version 12 of the data that Kafka Streams"):
            decode_assignment(in_assignment("0000000c"))


class TestDecodeSubscription:
    @pytest.mark.parametrize("version", SUBSCRIPTIONS)
    def test_every_version_from_2_on_tells_the_application_server(self, version: int) -> None:
        told = decode_subscription(in_subscription(SUBSCRIPTIONS[version]))
        assert told == (version if version < 3 else 11, None if version == 1 else "h1:8080")

    def test_none_was_set(self) -> None:
        info = SUBSCRIPTIONS[9].replace(_ENDPOINT, "00000000")
        assert decode_subscription(in_subscription(info)).endpoint is None

    @pytest.mark.parametrize("endpoint", ["00000007683180ff383030", "0000000768312138303830"])
    def test_a_host_that_kafka_streams_would_not_start_with_is_refused(self, endpoint: str) -> None:
        info = SUBSCRIPTIONS[6].replace(_ENDPOINT, endpoint)
        with pytest.raises(FormatError, match=r"is damaged: 'h1.*' is no HOST:PORT$"):
            decode_subscription(in_subscription(info))
