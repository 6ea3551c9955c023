"""What is known of an application: read back as it was written, and compared with care where it is a range."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from srfix.recovery.cluster.answers import GroupState
from srfix.recovery.documents import json_of
from srfix.recovery.facts.reader import (
    Circumstances,
    KnownApplication,
    KnownStore,
    Reader,
    StreamsVersion,
    circumstances_of,
    concerned,
    known_application,
)
from srfix.serde.subjects.names import Topic


@pytest.mark.parametrize(
    ("name", "version", "is_"),
    [
        ("ksqldb", (2, 5), Reader.CONNECT),
        ("ksqldb", (2, 7), Reader.DUAL),
        ("ksqldb", None, Reader.UNKNOWN),
        ("plain", (2, 7), Reader.PLAIN),
    ],
)
def test_ksqldb_reads_as_its_version_does(name: str, version: tuple[int, int] | None, is_: Reader) -> None:
    assert Reader.of_name(name, None if version is None else StreamsVersion(*version)) is is_


texts = st.text(max_size=8)
versions = st.none() | st.builds(StreamsVersion, st.integers(0, 9), st.integers(0, 20))
stores = st.builds(KnownStore, name=texts, topic=st.none() | texts.map(Topic), is_global=st.booleans())
known = st.builds(
    Circumstances,
    application=texts,
    stores=st.lists(stores, max_size=3).map(tuple),
    reader=st.sampled_from(Reader),
    oldest=versions,
    newest=versions,
    state=st.none() | texts,
    members=st.none() | st.integers(0, 99),
    problem=st.none() | texts,
    query=st.none() | texts,
    query_state=st.none() | texts,
    ksqldb_version=st.none() | texts,
)


class TestDocument:
    @given(known)
    def test_it_is_read_back_as_it_was_written(self, it: Circumstances) -> None:
        document = json.loads(json.dumps(json_of(known_application(it))))
        assert circumstances_of(convert(document, KnownApplication)) == it

    @pytest.mark.parametrize("document", [None, [], {}, {"application": "shop"}])
    def test_something_else_is_refused(self, document: None) -> None:
        with pytest.raises(ValueError, match=r"Expected `object`|missing required field"):
            convert(document, KnownApplication)


@pytest.mark.core
class TestIsBefore:
    @pytest.mark.parametrize(
        ("oldest", "newest", "says"),
        [
            (None, None, None),
            (None, "2.6", True),
            ("2.4", "2.6", True),
            ("2.7", "2.7", False),
            ("2.7", None, False),
            ("2.4", None, None),
            ("2.4", "3.2", None),
            (None, "2.7", None),
        ],
    )
    def test_only_a_range_that_lies_on_one_side_says_anything(
        self, oldest: str | None, newest: str | None, says: bool | None
    ) -> None:
        it = Circumstances(
            application="shop",
            oldest=None if oldest is None else StreamsVersion.parse(oldest),
            newest=None if newest is None else StreamsVersion.parse(newest),
        )
        assert it.is_before(StreamsVersion(2, 7)) is says


@pytest.mark.core
class TestStreams:
    def test_the_range_in_words(self) -> None:
        old, new = StreamsVersion(2, 4), StreamsVersion(3, 2)
        said = [
            Circumstances(application="a", oldest=o, newest=n).streams for o in (None, old) for n in (None, old, new)
        ]
        assert said == [None, "up to 2.4", "up to 3.2", "2.4 or later", "2.4", "2.4 to 3.2"]

    @pytest.mark.parametrize("said", ["2.6", "2.6.3"])
    def test_a_plan_has_the_version_as_it_was_said(self, said: str) -> None:
        """Seen wrong: `apply` refused a plan that was made with --streams-version 2.6.3."""
        version = StreamsVersion.parse(said)
        kept = circumstances_of(known_application(Circumstances(application="a", oldest=version, newest=version)))
        assert (str(kept.oldest), str(kept.newest)) == (said, said)


class TestConcerned:
    def test_only_the_stores_of_the_plan_and_their_applications_are_kept(self) -> None:
        users, orders = KnownStore(name="users", topic=Topic("u")), KnownStore(name="orders", topic=None)
        shop = Circumstances(application="shop", stores=(orders, users))
        tills = Circumstances(application="tills", stores=(users,))
        assert concerned([shop, tills], [("shop", "users")]) == (shop.of_stores({"users"}),)
        assert shop.of_stores({"users"}).stores == (users,)


class TestWithGroup:
    def test_the_present_word_replaces_the_old_one(self) -> None:
        then = Circumstances(application="shop", state="Stable", members=2)
        now = then.with_group(GroupState(group="shop", state=None, members=None, problem="denied"))
        assert (now.state, now.members, now.problem) == (None, None, "denied")
