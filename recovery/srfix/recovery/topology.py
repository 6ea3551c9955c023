"""The printed topology of Kafka Streams, as `Topology.describe()` gives it and ksqlDB's EXPLAIN repeats it.

    Topologies:
       Sub-topology: 0
        Source: KSTREAM-SOURCE-0000000000 (topics: [users])
          --> KTABLE-SOURCE-0000000001
        Processor: KTABLE-SOURCE-0000000001 (stores: [users-store])
          --> none
          <-- KSTREAM-SOURCE-0000000000

Forms that differ by version (`InternalTopologyBuilder.TopologyDescription`): topics without brackets (1.x), a pattern
in their place, `(extractor class: …)` for a sink, `for global store (will not generate tasks)`, `Topology: <name>:`
before a named topology. The text shows neither the application nor whether a changelog exists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from srfix.recovery.errors import TopologyError
from srfix.serde.subjects.names import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNode:
    name: str
    topics: tuple[Topic, ...]
    """Its topics, as printed: internal ones without their prefix. Empty if it has a pattern."""
    pattern: str | None = None
    successors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    name: str
    stores: tuple[str, ...] = ()
    successors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    name: str
    topic: str
    """The topic; if the topic is chosen for each record, the extractor's class."""


Node: TypeAlias = SourceNode | Processor | Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtopology:
    number: int
    is_global: bool = False
    nodes: tuple[Node, ...] = ()

    def source_of(self, processor: Processor) -> SourceNode | None:
        """The one node before a processor, if it is a source; None if it is another node, or if there are several."""
        before = [node for node in self.nodes if not isinstance(node, Sink) and processor.name in node.successors]
        return before[0] if len(before) == 1 and isinstance(before[0], SourceNode) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    subtopologies: tuple[Subtopology, ...]
    name: str | None = None

    @property
    def stores(self) -> tuple[str, ...]:
        nodes = [node for part in self.subtopologies for node in part.nodes if isinstance(node, Processor)]
        return tuple(sorted({store for node in nodes for store in node.stores}))


_START: Final = re.compile(r"(?:.*\s)?(?:Topologies:|Topology: (?P<name>.+):)\s*")
_SUBTOPOLOGY: Final = re.compile(r"Sub-topology: (?P<number>\d+)(?P<global> for global store .*)?")
_SOURCE: Final = re.compile(r"Source: +(?P<name>.+) \(topics: (?P<topics>.*)\)")
_PROCESSOR: Final = re.compile(r"Processor: +(?P<name>.+) \(stores: \[(?P<stores>.*)\]\)")
_SINK: Final = re.compile(r"Sink: +(?P<name>.+) \((?:topic|extractor class): (?P<topic>.*)\)")
_ARROW: Final = re.compile(r"(?P<arrow>-->|<--) *(?P<names>.*)")
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_NONE: Final = "none"


def parse_topologies(text: str, *, origin: str) -> tuple[Topology, ...]:
    """The printed topologies in a text; other text before, between and after them (a log, EXPLAIN) is passed over."""
    reader = _Reader(origin)
    for number, line in enumerate(text.splitlines(), start=1):
        reader.read(number, line)
    return reader.finish()


class _Reader:
    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._done: list[Topology] = []
        self._name: str | None = None
        self._parts: list[Subtopology] = []
        self._node: Node | None = None
        self._inside = False

    def read(self, number: int, line: str) -> None:
        stripped = line.strip()
        if (start := _START.fullmatch(line.rstrip())) is not None:
            self._close()
            self._name = start["name"]
            self._inside = True
        elif (part := _SUBTOPOLOGY.fullmatch(stripped)) is not None:
            self._end_node()
            self._inside = True
            self._parts.append(Subtopology(number=int(part["number"]), is_global=part["global"] is not None))
        elif not self._inside or not stripped:
            return
        elif (node := _node(stripped)) is not None:
            self._end_node()
            if not self._parts:
                raise self._garbled(number, "there is a node before the first sub-topology")
            self._node = node
        elif (arrow := _ARROW.fullmatch(stripped)) is not None:
            self._connect(number, arrow["arrow"], arrow["names"])
        elif line[0].isspace():
            raise self._garbled(number, f"{stripped[:60]!r} is not a line of a printed topology")
        else:
            self._close()

    def finish(self) -> tuple[Topology, ...]:
        self._close()
        if not self._done:
            raise TopologyError(
                f"{self._origin} holds no printed topology: there is no line 'Sub-topology: 0'. Save what "
                "Topology.describe() prints, or the topology in ksqlDB's EXPLAIN."
            )
        return tuple(self._done)

    def _connect(self, number: int, arrow: str, text: str) -> None:
        names = () if text == _NONE else tuple(text.split(", "))
        match self._node:
            case SourceNode() | Processor() as node if arrow == "-->":
                self._node = replace(node, successors=names)
            case Processor() | Sink() if arrow == "<--":
                return  # the nodes before it name it, too
            case _:
                raise self._garbled(number, f"the arrow {arrow} does not belong to any node")

    def _end_node(self) -> None:
        if self._node is not None:
            last = self._parts[-1]
            self._parts[-1] = replace(last, nodes=(*last.nodes, self._node))
            self._node = None

    def _close(self) -> None:
        self._end_node()
        if self._parts:
            self._done.append(Topology(subtopologies=tuple(self._parts), name=self._name))
        self._parts, self._name, self._inside = [], None, False

    def _garbled(self, number: int, problem: str) -> TopologyError:
        return TopologyError(
            f"{self._origin}, line {number}: {problem}. Save the whole of what Topology.describe() prints, unchanged."
        )


def _node(line: str) -> Node | None:
    if (source := _SOURCE.fullmatch(line)) is not None:
        topics, pattern = _topics(source["topics"])
        return SourceNode(name=source["name"], topics=topics, pattern=pattern)
    if (processor := _PROCESSOR.fullmatch(line)) is not None:
        return Processor(name=processor["name"], stores=_list(processor["stores"]))
    if (sink := _SINK.fullmatch(line)) is not None:
        return Sink(name=sink["name"], topic=sink["topic"])
    return None


def _topics(text: str) -> tuple[tuple[Topic, ...], str | None]:
    """Topics in brackets; in 1.x without brackets. A text that cannot be a list of topics is a pattern."""
    bracketed = text.startswith("[") and text.endswith("]")
    names = _list(text[1:-1] if bracketed else text)
    if all(_TOPIC.fullmatch(name) for name in names):
        return tuple(map(Topic, names)), None
    return (), text


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split(", ")) if text else ()
