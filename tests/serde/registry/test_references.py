"""References in the order in which they have to be registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import Schema, SchemaError, SchemaReference, Subject, bounds
from srfix.serde.registry.schema_reads import SchemaReads
from srfix.serde.schemas.models import SchemaVersion
from srfix.serde.schemas.references import named_references, reference_texts, schema_references
from srfix.serde.wire import SchemaId


class Shelf(SchemaReads):
    """Versions by subject, and nothing else of a registry."""

    def __init__(self, references: Mapping[str, tuple[str, ...]]) -> None:
        self.references = references
        self.asked: list[tuple[str, int | str, bool]] = []

    def version(self, subject: str, version: int | str, *, deleted: bool = False) -> SchemaVersion:
        self.asked.append((subject, version, deleted))
        return SchemaVersion(
            subject=Subject(subject),
            version=1,
            schema_id=SchemaId(1),
            schema=to(*self.references.get(subject, ())),
        )


def to(*subjects: str, version: int = 1) -> Schema:
    return Schema(
        text='"x"',
        references=tuple(SchemaReference(name=subject, subject=subject, version=version) for subject in subjects),
    )


def order(references: Mapping[str, tuple[str, ...]], *roots: str, subject: str = "") -> list[str]:
    return [found.subject for found in schema_references(Shelf(references), to(*roots), subject=subject)]


class Endless(Shelf):
    """Each version refers to two others."""

    def version(self, subject: str, version: int | str, *, deleted: bool = False) -> SchemaVersion:
        self.references = {subject: (f"{subject}a", f"{subject}b")}
        return super().version(subject, version, deleted=deleted)


@pytest.mark.parametrize("follow", [reference_texts, lambda *of: list(named_references(*of))])
def test_references_without_end_are_given_up(follow: Callable[[Shelf, Schema], object]) -> None:
    endless = Endless({})
    with pytest.raises(SchemaError, match=r"refers to more than 3,000 versions.*bounds\.REFERENCES"):
        follow(endless, to("s"))
    assert len(endless.asked) == bounds.REFERENCES


def test_versions_that_all_refer_to_each_other_by_the_thousand_are_given_up() -> None:
    many = tuple(f"s{number}" for number in range(2_900))
    shelf = Shelf(dict.fromkeys(many, many))
    with pytest.raises(SchemaError, match=r"have more than 30,000 references altogether.*bounds\.REFERENCE_LINKS"):
        reference_texts(shelf, to(*many))
    assert len(shelf.asked) < 12


names = st.sampled_from("abcdefgh")
graphs = st.dictionaries(names, st.lists(names, unique=True, max_size=4).map(tuple))


class TestOrder:
    def test_a_chain_may_be_longer_than_pythons_stack(self) -> None:
        chain = {f"s{number}": (f"s{number + 1}",) for number in range(bounds.REFERENCES - 1)}
        assert order(chain, "s0")[0] == f"s{bounds.REFERENCES - 1}"

    @given(graphs, st.lists(names, unique=True, max_size=4))
    def test_each_comes_once_and_all_that_can_be_reached_do(
        self, graph: dict[str, tuple[str, ...]], roots: list[str]
    ) -> None:
        reachable, waiting = set[str](), list(roots)
        while waiting:
            name = waiting.pop()
            if name not in reachable:
                reachable.add(name)
                waiting += graph.get(name, ())
        assert sorted(order(graph, *roots)) == sorted(reachable)

    @given(graphs, st.lists(names, unique=True, max_size=4))
    def test_without_circles_none_comes_before_what_it_refers_to(
        self, graph: dict[str, tuple[str, ...]], roots: list[str]
    ) -> None:
        acyclic = {name: tuple(target for target in targets if target < name) for name, targets in graph.items()}
        found = order(acyclic, *roots)
        assert all(found.index(target) < found.index(name) for name in found for target in acyclic.get(name, ()))


class TestNames:
    """A JSON Schema refers to others by the references' names: each name counts, though two may stand for one version."""

    TWICE = Schema(
        text='{"properties":{"a":{"$ref":"one.json"},"b":{"$ref":"other.json"}}}',
        schema_type="JSON",
        references=tuple(SchemaReference(name=name, subject="part", version=1) for name in ("one.json", "other.json")),
    )

    def test_a_version_comes_under_each_of_its_names(self) -> None:
        found = named_references(Shelf({}), self.TWICE)
        assert [(name, version.subject) for name, version in found] == [("one.json", "part"), ("other.json", "part")]

    def test_texts_of_a_json_schema_know_their_names(self) -> None:
        texts = reference_texts(Shelf({}), self.TWICE)
        assert [(str(text), getattr(text, "name", None)) for text in texts] == [
            ('"x"', "one.json"),
            ('"x"', "other.json"),
        ]

    def test_texts_of_an_avro_schema_come_once(self) -> None:
        assert reference_texts(Shelf({}), replace(self.TWICE, schema_type="AVRO")) == ('"x"',)


class TestVersions:
    def test_soft_deleted_ones_are_asked_for_and_minus_one_is_the_latest(self) -> None:
        shelf = Shelf({})
        list(
            schema_references(shelf, Schema(text='"x"', references=to("a").references + to("b", version=-1).references))
        )
        assert shelf.asked == [("a", 1, True), ("b", "latest", False)]


class TestContexts:
    def test_a_reference_without_a_context_is_to_the_parents(self) -> None:
        assert order({":.x:b": ("a", ":.y:c")}, "b", subject=":.x:parent") == [":.x:a", ":.y:c", ":.x:b"]
