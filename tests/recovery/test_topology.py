"""Printed topologies: real ones byte for byte, every version's form, and what stands around them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from srfix.recovery.errors import TopologyError
from srfix.recovery.topology import Node, Processor, Sink, SourceNode, Subtopology, Topology, parse_topologies
from srfix.serde.subjects.names import Topic
from tests.recovery.staging import TABLE

REAL = sorted((Path(__file__).parent / "state/data").glob("*/topology.txt"))
node_names = st.from_regex(r"[A-Za-z0-9._-]{1,12}", fullmatch=True).filter(lambda name: name != "none")
"""What `Named.validate` allows."""
several = st.lists(node_names, max_size=3).map(tuple)
sources = st.builds(
    SourceNode,
    name=node_names,
    topics=st.lists(node_names.map(Topic), min_size=1, max_size=3).map(tuple),
    successors=several,
) | st.builds(SourceNode, name=node_names, topics=st.just(()), pattern=st.just("users.*|[a-z]+"), successors=several)
processors = st.builds(Processor, name=node_names, stores=several, successors=several)
sinks = st.builds(Sink, name=node_names, topic=node_names)
subtopologies = st.builds(
    Subtopology,
    number=st.integers(0, 99),
    is_global=st.booleans(),
    nodes=st.lists(sources | processors | sinks, max_size=5).map(tuple),
)
topologies = st.builds(
    Topology,
    subtopologies=st.lists(subtopologies, min_size=1, max_size=4).map(tuple),
    name=st.none() | st.from_regex(r"[A-Z0-9_]{1,9}", fullmatch=True),
)
"""Any printed topology, well-formed as a graph or not."""


def print_topology(topology: Topology) -> str:
    """The text that `Topology.describe()` of Kafka Streams 2.0 and later prints."""
    head = "Topologies:\n " if topology.name is None else f"Topology: {topology.name}:\n "
    return head + "".join(map(_print_subtopology, topology.subtopologies))


def _print_subtopology(part: Subtopology) -> str:
    suffix = " for global store (will not generate tasks)" if part.is_global else ""
    nodes = "".join(f"    {line}\n" for node in part.nodes for line in _lines(node))
    return f"  Sub-topology: {part.number}{suffix}\n{nodes}" + ("" if part.is_global else "\n")


def _lines(node: Node) -> Iterator[str]:
    match node:
        case SourceNode():
            yield f"Source: {node.name} (topics: {node.pattern or '[' + ', '.join(node.topics) + ']'})"
            yield f"  --> {_names(node.successors)}"
        case Processor():
            yield f"Processor: {node.name} (stores: [{', '.join(node.stores)}])"
            yield f"  --> {_names(node.successors)}"
        case Sink():
            yield f"Sink: {node.name} (topic: {node.topic})"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def only(text: str) -> Topology:
    (topology,) = parse_topologies(text, origin="topology.txt")
    return topology


def nodes(text: str) -> tuple[Node, ...]:
    return only(f"Topologies:\n   Sub-topology: 0\n{text}").subtopologies[0].nodes


class TestParseTopologies:
    @given(topologies)
    def test_what_is_printed_is_read(self, topology: Topology) -> None:
        assert only(print_topology(topology)) == topology

    @pytest.mark.parametrize("path", REAL, ids=lambda path: path.parent.name)
    def test_what_real_streams_printed_is_printed_again_but_for_the_nodes_before_each(self, path: Path) -> None:
        text = path.read_text()
        kept = [line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("<-- ")]
        assert print_topology(only(text)) == "".join(kept) != text

    def test_there_are_real_ones(self) -> None:
        assert [path.parent.name for path in REAL] == ["2.6.3", "3.9.2", "4.3.1"]

    def test_a_global_store_has_a_sub_topology_without_tasks(self) -> None:
        found = only(REAL[0].read_text())
        assert [part.number for part in found.subtopologies if part.is_global] == [2]
        assert "glob" in found.stores

    @given(st.text(max_size=80))
    @example("Topologies:\n  --> a")
    @example("Sub-topology: 0\n Source: (topics: )")
    def test_any_text_is_a_topology_or_one_of_our_errors(self, text: str) -> None:
        with suppress(TopologyError):
            parse_topologies(text, origin="p")

    def test_text_around_it_is_passed_over(self) -> None:
        text = (
            f"2020-06-16 03:00:00 INFO Main - built Topologies:\n{TABLE.partition(chr(10))[2]}2020-06-16 INFO started\n"
        )
        assert only(text) == only(TABLE)

    def test_several_in_one_file_are_several(self) -> None:
        assert parse_topologies(TABLE + TABLE, origin="p") == (only(TABLE), only(TABLE))

    @pytest.mark.parametrize(
        "text",
        ["\n".join(line.strip() for line in TABLE.splitlines()), TABLE.replace("\n", "\r\n")],
        ids=["lost indentation", "Windows' line ends"],
    )
    def test_what_pasting_does_to_it_does_no_harm(self, text: str) -> None:
        assert only(text) == only(TABLE)

    def test_a_named_topology_has_its_name(self) -> None:
        assert only(TABLE.replace("Topologies:", "Topology: CSAS_J_0:")).name == "CSAS_J_0"

    def test_topics_stand_without_brackets_in_1_x(self) -> None:
        assert nodes("    Source: S (topics: a, b)\n      --> none\n") == (
            SourceNode(name="S", topics=(Topic("a"), Topic("b"))),
        )

    def test_a_pattern_is_no_topic(self) -> None:
        assert nodes("    Source: S (topics: users-.*)\n      --> P\n") == (
            SourceNode(name="S", topics=(), pattern="users-.*", successors=("P",)),
        )

    def test_a_sink_may_choose_its_topic(self) -> None:
        assert nodes("    Sink: K (extractor class: com.example.Route@1f)\n      <-- P\n") == (
            Sink(name="K", topic="com.example.Route@1f"),
        )

    def test_a_text_without_any_is_refused_with_what_to_save(self) -> None:
        with pytest.raises(TopologyError) as caught:
            parse_topologies("hello\n", origin="notes.txt")
        assert caught.value.message.startswith(
            "notes.txt holds no printed topology: there is no line 'Sub-topology: 0'."
        )

    @pytest.mark.parametrize(
        ("text", "line", "problem"),
        [
            ("Topologies:\n   Sub-topology: 0\n    Bogus: x\n", 3, "'Bogus: x' is not a line of a printed topology"),
            ("Topologies:\n   Sub-topology: 0\n      --> a\n", 3, "the arrow --> does not belong to any node"),
            (
                "Topologies:\n   Sub-topology: 0\n    Source: S (topics: [a])\n      <-- b\n",
                4,
                "the arrow <-- does not belong",
            ),
            ("Topologies:\n    Source: S (topics: [a])\n", 2, "there is a node before the first sub-topology"),
        ],
    )
    def test_a_garbled_one_is_refused_with_the_line(self, text: str, line: int, problem: str) -> None:
        with pytest.raises(TopologyError) as caught:
            parse_topologies(text, origin="t.txt")
        assert caught.value.message.startswith(f"t.txt, line {line}: {problem}")
        assert ". Save the whole of what " in caught.value.message


@pytest.mark.core
class TestSourceOf:
    def test_a_processor_directly_behind_one_source_has_it(self) -> None:
        part = only(TABLE).subtopologies[0]
        source, processor = part.nodes
        assert isinstance(processor, Processor)
        assert part.source_of(processor) == source

    def test_a_processor_behind_two_nodes_has_none(self) -> None:
        part = only(
            TABLE.replace("Processor:", "Source: S2 (topics: [t2])\n      --> KTABLE-SOURCE-0000000001\n    Processor:")
        ).subtopologies[0]
        processor = part.nodes[-1]
        assert isinstance(processor, Processor)
        assert part.source_of(processor) is None
