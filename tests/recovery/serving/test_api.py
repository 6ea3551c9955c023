"""The HTTP API of one member on the embedded broker."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from srfix.fixtures.broker.client import ProducedRecord
from srfix.recovery.serving.guarding import MOST_BODY, Credentials
from srfix.recovery.serving.node import Node
from srfix.recovery.serving.starting import kept_for_one
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.stores.whereabouts import partition_of
from srfix.serde.errors import UsageError
from srfix.serde.registry.secret import BasicAuth, Secret
from tests.recovery.serving.conftest import PARTITIONS, Member

Start = Callable[..., Member]


def _user(name: str, age: int | None = None) -> str:
    return json.dumps({"NAME": name, "AGE": age})


@pytest.fixture(scope="module")
def member(start_shared: Start) -> Member:
    return _filled(start_shared)


def _filled(start: Start) -> Member:
    member = start()
    member.produce(
        *((f"k{number}", _user(f"v{number}", number)) for number in range(50)), ("gone", "x"), ("gone", None)
    )
    member.catch_up()
    return member


def _values(answer: dict) -> list[str]:  # type: ignore[type-arg]
    return [row["value"]["NAME"] for row in answer["rows"]]


def test_a_row_with_how_far_it_is(member: Member) -> None:
    response = member.http.get("/stores/users/keys/k7")
    answer = response.json()
    assert (response.status_code, answer["schema"]) == (200, "srfix.served-rows/1")
    (row,), (read,) = answer["rows"], answer["partitions"]
    assert (row["key"], row["value"]) == ({"ID": "k7"}, {"NAME": "v7", "AGE": 7})
    assert (read["role"], read["offset"], read["lag"]) == ("active", member.ends[read["partition"]], 0)
    assert (answer["complete"], answer["failed"]) == (True, [])


@pytest.mark.parametrize("key", ["gone", "never"])
def test_no_row_is_404_with_the_position(member: Member, key: str) -> None:
    response = member.http.get(f"/stores/users/keys/{key}")
    assert response.status_code == 404
    assert (response.json()["rows"], response.json()["complete"]) == ([], True)
    assert response.json()["position"]


def test_the_bytes_of_a_value(member: Member) -> None:
    response = member.http.get("/stores/users/keys/k7", headers={"accept": "application/octet-stream"})
    assert (response.content.decode(), response.headers["content-type"]) == (_user("v7", 7), "application/octet-stream")
    assert response.headers["srfix-position"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("prefix=k1", {"v1", *(f"v1{digit}" for digit in range(10))}),
        ("from=k48&to=k5", {"v48", "v49", "v5"}),
        ("prefix=hex:6b32&limit=1000", {"v2", *(f"v2{digit}" for digit in range(10))}),
        ("prefix=nothing", set()),
    ],
)
def test_prefixes_and_ranges(member: Member, query: str, expected: set[str]) -> None:
    answer = member.http.get(f"/stores/users/keys?{query}").json()
    assert set(_values(answer)) == expected
    assert (answer["complete"], len(answer["partitions"])) == (True, 3)


def test_a_limit_is_said(member: Member) -> None:
    answer = member.http.get("/stores/users/all?limit=20").json()
    assert (len(answer["rows"]), answer["complete"]) == (20, False)
    lines = member.http.get("/stores/users/all", headers={"accept": "application/x-ndjson"}).text.splitlines()
    assert len(lines) == 51
    assert json.loads(lines[-1])["complete"] is True
    assert member.api.gathering.iterators == 0


def test_counts(member: Member) -> None:
    assert member.http.get("/stores/users/count").json()["count"] == 50
    assert member.http.get("/stores/users/count?prefix=k4").json()["count"] == 11


def test_a_position_is_waited_for_and_never_undercut(start: Start) -> None:
    member = _filled(start)
    before = member.http.get("/stores/users/keys/k7").json()["position"]
    member.produce(("k7", _user("newer")))
    member.catch_up()
    after = member.http.get(f"/stores/users/keys/k7?min_position={before}").json()
    assert _values(after) == ["newer"]
    partition = after["partitions"][0]["partition"]
    from srfix.recovery.serving.gathering import token_of

    future = token_of(member.topic, {partition: member.ends[partition] + 1})
    refused = member.http.get(f"/stores/users/keys/k7?min_position={future}&timeout=0.2")
    assert refused.status_code == 503
    assert "is wanted" in refused.json()["error"]


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/stores/user/keys/k", 404, "Did you mean users?"),
        ("/stores/users/keys/k?limt=3", 400, "The request is not as GET /openapi.json describes it"),
        ("/stores/users/keys/k?limt=3", 400, "unknown field `limt`"),
        ("/stores/users/all?limit=0", 400, "limit"),
        ("/stores/users/all?limit=ten", 400, "limit"),
        ("/stores/users/keys/hex:zz", 400, "hexadecimal digits"),
        ("/stores/users/keys/k?at=3", 400, "keeps no versions"),
        ("/stores/users/windows/k", 400, "has no windows"),
        ("/stores/users/sessions/k", 400, "has no sessions"),
        ("/stores/users/keys/k?max_lag=much", 400, "max_lag"),
        ("/stores/users/keys/k?min_position=%%", 400, "min_position"),
        ("/stores/users/keys?from=k5&to=k48", 400, "`from` is above `to`"),
        ("/stores/users/count?from=int:-1&to=int:9", 400, "a negative number is above all others"),
        ("/nothing", 404, "Not Found"),
    ],
)
def test_mistakes_are_said(member: Member, path: str, code: int, words: str) -> None:
    response = member.http.get(path)
    assert response.status_code == code
    assert words in response.json()["error"] + str(response.json()["failed"])


@pytest.mark.parametrize("name", ["PEOPLE", "people", "peple"])
def test_a_table_s_name_is_none_of_a_store(start: Start, name: str) -> None:
    member = start()
    member.node.stores["users"] = replace(member.node.stores["users"], table="PEOPLE")  # type: ignore[index]
    assert "Did you mean users?" in member.http.get(f"/stores/{name}/keys/k").json()["error"]


def test_a_missing_key_may_be_in_a_partition_that_nobody_reads(start: Start) -> None:
    member = _filled(start)
    member.node.followers["users"].added = range(3, 4)
    answer = member.http.get("/stores/users/keys/nobody")
    assert (answer.status_code, answer.json()["failed"][0]["partition"]) == (503, 3)
    assert "restart all members" in answer.json()["error"]
    assert member.http.get("/stores/users/keys/k7").json()["complete"] is True


def test_a_row_that_cannot_be_decoded_is_an_error_with_its_bytes(start: Start) -> None:
    member = start()
    member.produce(("bad", "no json"))
    member.catch_up()
    (row,) = member.http.get("/stores/users/keys/bad").json()["rows"]
    assert row["value"] == {"$raw": "bm8ganNvbg==", "text": "no json"}
    assert row["errors"][0]["role"] == "value"
    answer = member.http.post("/query", json={"ksql": "SELECT * FROM users WHERE ID = 'bad';"}).json()
    assert "cannot be decoded" in answer[1]["errorMessage"]["message"]


def test_windows_between_times_and_without_what_is_beyond_the_retention(start: Start) -> None:
    member = start(kind=WrittenKind.TIMESTAMPED_WINDOW, retention_ms=600_000)
    starts = [0, 400_000, 900_000, 1_000_000]
    for start_ms in starts:
        key = b"ann" + struct.pack(">qi", start_ms, 0)
        member.broker.produce(
            [ProducedRecord(topic=member.topic, partition=0, key=key, value=_user(str(start_ms)).encode())]
        )
    member.ends[0] = 4
    member.catch_up()
    part = member.node.part("users", 0)
    assert part is not None
    served = member.node.stores["users"]
    from srfix.recovery.serving.questions import Question
    from srfix.recovery.stores.rows import RowFilter

    def windows(**bounds: int) -> list[int]:
        question = Question(keys=(b"ann",), within=RowFilter(**bounds))  # type: ignore[arg-type]
        (read,) = served.chunks(part, question)
        return [json.loads(bytes(row))["window"]["start_ms"] for row in read.rows]

    assert windows() == [900_000, 1_000_000]
    assert windows(window_from_ms=950_000) == [1_000_000]
    assert windows(window_to_ms=950_000) == [900_000]


def test_some_windows_of_a_key_are_not_all_while_its_partition_is_filled(start: Start) -> None:
    member = start(kind=WrittenKind.TIMESTAMPED_WINDOW, retention_ms=600_000)
    home = partition_of(b"ann", PARTITIONS)
    key = b"ann" + struct.pack(">qi", 0, 0)
    member.broker.produce([ProducedRecord(topic=member.topic, partition=home, key=key, value=b"1")])
    member.ends[home] = 1
    member.catch_up()
    member.fix_ends(1_000_000)
    for part in member.node.parts():
        part.progress = structs.replace(part.progress, is_filled=False)
    answer = member.http.get("/stores/users/keys/ann").json()
    assert (len(answer["rows"]), answer["complete"]) == (1, False)


def test_credentials_are_asked_for_but_not_by_probes(start: Start) -> None:
    member = start(credentials=Credentials("Bearer s3cret"))
    without, wrong = (member.http.get("/stores", headers=each) for each in ({}, {"authorization": "Bearer wrong"}))
    assert (without.status_code, "asks for credentials" in without.json()["error"]) == (401, True)
    assert (wrong.status_code, "does not take these credentials" in wrong.json()["error"]) == (401, True)
    assert member.http.get("/stores", headers={"authorization": "bearer s3cret"}).status_code == 200
    assert member.http.get("/healthz").status_code == 200
    basic = start(
        broker=member.broker, credentials=Credentials(BasicAuth("ann", Secret("pw")).header()), folder="other"
    )
    assert basic.http.get("/stores", auth=("ann", "pw")).status_code == 200
    assert basic.http.get("/stores", auth=("ann", "no")).status_code == 401
    assert basic.http.get("/stores", headers={"authorization": "Basic %%%"}).status_code == 401


def test_a_body_that_is_too_large(member: Member) -> None:
    response = member.http.post("/query", content=b"x" * (MOST_BODY + 1))
    assert response.status_code == 413


def test_the_description_has_every_route(member: Member) -> None:
    paths = member.http.get("/openapi.json").json()["paths"]
    assert {"/stores", "/stores/{store}/keys/{key}", "/stores/{store}/windows/{key}"} <= paths.keys()
    names = {parameter["name"] for parameter in paths["/stores/{store}/keys"]["get"]["parameters"]}
    assert {"store", "prefix", "from", "to", "limit", "max_lag", "min_position"} <= names
    absent = paths["/stores/{store}/keys/{key}"]["get"]["responses"]["404"]["content"]["application/json"]["schema"]
    assert [each["$ref"].split("/")[-1] for each in absent["oneOf"]] == ["ServedRows", "ServedError"]


def test_what_was_told_of_a_partition_stands_with_the_stores(start: Start) -> None:
    member = start()
    member.catch_up()
    member.node.parts()[0].start_anew("a <test>")
    until_s = time.monotonic() + 20
    while not (notes := member.http.get("/stores").json()["notes"]):
        assert time.monotonic() < until_s
        time.sleep(0.05)
    assert notes == ["users: partition 0 is filled anew: a <test>."]
    assert "filled anew: a &lt;test&gt;." in member.http.get("/").text


def test_the_page_and_the_metrics(member: Member) -> None:
    page = member.http.get("/look", params={"store": "users", "key": "<k7>"}).text
    assert "&lt;k7&gt;" in page
    assert "<k7>" not in page
    metrics = member.http.get("/metrics").text
    assert 'srfix_serve_lag_records{partition="0",store="users"} 0.0' in metrics


def test_a_problem_makes_a_member_unready_but_not_unhealthy(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    assert member.http.get("/readyz").status_code == 200
    with monkeypatch.context() as patched:
        patched.setattr(Node, "problems", lambda _node: iter(("a problem",)))
        assert (member.http.get("/readyz").status_code, member.http.get("/healthz").status_code) == (503, 200)
    monkeypatch.setattr(Node, "is_starting", True)
    assert member.http.get("/readyz").status_code == 503


def test_a_key_that_has_no_row_while_its_partition_is_filled_is_not_said_to_be_absent(start: Start) -> None:
    member = start()
    member.produce(("ann", _user("ann")))
    member.catch_up()
    member.fix_ends(1_000_000)
    for part in member.node.parts():
        part.progress = structs.replace(part.progress, is_filled=False)
    assert member.http.get("/stores/users/keys/ann").status_code == 200
    refused = member.http.get("/stores/users/keys/bob")
    assert (refused.status_code, "still being filled" in refused.json()["error"]) == (503, True)
    counted = member.http.get("/stores/users/count").json()
    assert (counted["count"], counted["complete"], len(counted["failed"])) == (1, False, 3)


def test_a_key_that_another_partitioner_placed_is_found(start: Start) -> None:
    member = start()
    home = partition_of(b"ann", 3)
    elsewhere = (home + 1) % 3
    record = ProducedRecord(topic=member.topic, partition=elsewhere, key=b"ann", value=_user("ann").encode())
    member.broker.produce([record])
    member.ends[elsewhere] += 1
    member.catch_up()
    answer = member.http.get("/stores/users/keys/ann").json()
    assert [row["partition"] for row in answer["rows"]] == [elsewhere]
    assert len(answer["partitions"]) == 3


def test_a_data_directory_is_for_one_process(tmp_path: Path) -> None:
    with kept_for_one(tmp_path / "data"), pytest.raises(UsageError, match="Another process uses"):
        kept_for_one(tmp_path / "data").__enter__()
    with kept_for_one(tmp_path / "data"):
        pass
