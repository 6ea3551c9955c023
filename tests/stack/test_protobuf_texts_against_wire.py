"""Our canonical Protobuf texts against the real parser below the registry's: it reads in them what it reads in the originals.

The printer above it (`ProtobufSchemaUtils`) is not to be had; what it adds is in `tests/fixtures/protobuf`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parts.protobuf.canonical import canonical_protobuf
from srfix.serde import SchemaError
from tests.fixtures.protobuf.test_canonical import CANONICAL, DESCRIBED, EVERYTHING, NORMAL
from tests.stack.wire import Wire, wire

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def java() -> Iterator[Wire]:
    with wire() as process:
        yield process


def kept(text: str) -> str | None:
    try:
        return canonical_protobuf(text, check=False)[0]
    except SchemaError:
        return None


_names = st.sampled_from(["a", "B", "message", "a_1", "Outer", "optional"])
_types = st.sampled_from(["int32", "string", "bytes", "Outer", ".p.Outer", "a.B", "double"])
_scalars = st.sampled_from(
    ["1", "-1.50", "0x1F", "1e3", "-inf", "inf", "true", "FOO", '"x"', r"'\x41\n\'\"\101' ", '"a" \'b\' "é"']
)
_maps = st.recursive(
    _scalars,
    lambda inner: st.lists(
        st.tuples(
            st.sampled_from(["x", "y", "[p.z]"]),
            inner | st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        ),
        max_size=3,
    ).map(lambda pairs: f"{{{' '.join(f'{name}: {value}' for name, value in pairs)}}}"),
    max_leaves=4,
)
_option_names = st.sampled_from(["deprecated", "(a.b)", "(.a.b).c", "(a).b.c", "(a).(b.c)", "packed"])
_options = st.tuples(_option_names, _maps).map(" = ".join)
_bracketed = st.lists(
    _options | st.sampled_from(['default = "x"', "default = 5", 'json_name = "y"']),
    max_size=3,
    unique_by=lambda o: o.split()[0],
).map(lambda options: f" [{', '.join(options)}]" if options else "")


@st.composite
def _fields(draw: st.DrawFn) -> str:
    label = draw(st.sampled_from(["optional ", "repeated ", "required "]))
    number = draw(st.integers(1, 1000))
    field = f"{label}{draw(_types)} {draw(_names)} = {number}"
    if draw(st.integers(0, 4)) == 0:
        field = f"map< string,{draw(_types)} > {draw(_names)} = {number}"
    return f"{field}{draw(_bracketed)};"


_ranges = st.sampled_from(["1", "1 to 3", "5 to max", "4 to 4, 7"])
_statements = st.one_of(
    _fields(),
    _options.map(lambda option: f"option {option};"),
    _ranges.map(lambda ranges: f"reserved {ranges};"),
    st.just('reserved "a", "b";'),
    _ranges.map(lambda ranges: f"extensions {ranges};"),
    st.builds("oneof {} {{ int32 {} = 1{}; }}".format, _names, _names, _bracketed),
    st.builds("extend {} {{ optional int32 {} = 1{}; }}".format, _types, _names, _bracketed),
    st.builds("repeated group G = {} {{ optional int32 {} = 1; }}".format, st.integers(1, 9), _names),
    st.just(";"),
)
_enums = st.builds("enum {} {{ {} = 0 [{}]; }}".format, _names, _names, _options)


@st.composite
def _messages(draw: st.DrawFn, depth: int = 0) -> str:
    inner = draw(st.lists(_messages(depth=depth + 1), max_size=1)) if depth < 2 else []
    parts = [*draw(st.lists(_statements, max_size=5)), *inner, *draw(st.lists(_enums, max_size=1))]
    return f"message {draw(_names)} {{ {' '.join(parts)} }}"


_files = st.builds(
    " ".join,
    st.tuples(
        st.sampled_from(["", 'syntax = "proto2";', 'syntax = "proto2"; package p.q;']),
        st.sampled_from(["", 'import "x.proto"; import public "y.proto"; import "z.proto";']),
        st.lists(_options.map(lambda option: f"option {option};"), max_size=2).map(" ".join),
        st.lists(_messages(), max_size=2).map(" ".join),
        st.lists(_enums, max_size=2).map(" ".join),
        st.sampled_from(
            [
                "",
                "service S { option a = 1; rpc R (stream A) returns (.p.B) { option (b).c = 2; } rpc Q(A) returns (A); }",
            ]
        ),
    ),
)


class TestTree:
    def test_generated_texts(self, java: Wire) -> None:
        @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
        @given(_files)
        def check(text: str) -> None:
            theirs = java.tree(text)
            if theirs is not None:  # it refuses two types of one name, which protoc does for us
                ours = kept(text)
                assert ours is not None
                assert java.tree(ours) == theirs

        check()

    @pytest.mark.parametrize("text", [EVERYTHING, CANONICAL, NORMAL, DESCRIBED])
    def test_what_it_takes(self, java: Wire, text: str) -> None:
        tree = java.tree(text)
        assert tree is not None
        if text is not EVERYTHING:
            assert java.tree(kept(text) or "") == tree
