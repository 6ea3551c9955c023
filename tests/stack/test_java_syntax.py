"""Our reading of JAAS entries and of `.properties` texts is Kafka's and Java's own, whatever stands in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from srfix.serde.errors import UsageError
from srfix.serde.properties.java.file import read_properties_file
from srfix.serde.properties.java.sasl import parse_jaas
from tests.stack.java_configuration import JavaConfiguration, java_configuration

pytestmark = pytest.mark.stack
many = settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

jaas_pieces = st.sampled_from(
    ["a.B", "required", "OPTIONAL", "name", "=", ";", " ", "\n", "\t", "\r", '"', "'", "\\", "\\n", "\\101", "\\777",
     "\\8", "/", "//", "/*", "*/", "-", "-1", "1", "1a", ".", "..5", "a-b", "$x", "_", "@", "ä", "\x80", "\xa0", "€", "{",
     '"v w"', "'q'"]
)  # fmt: skip
jaas_entries = st.builds(
    lambda begin, middle, end: f"a.B required {begin}{middle}{end}",
    st.sampled_from(["", "name=", 'name="', "name='"]),
    st.lists(jaas_pieces, max_size=8).map("".join),
    st.sampled_from(["", ";", '";', "';", ' name="v";', "; "]),
) | st.lists(jaas_pieces, max_size=12).map("".join)
property_texts = st.lists(
    st.sampled_from(
        ["a", "b.c", "=", ":", " ", "\t", "\f", "\n", "\r\n", "\r", "\\", "\\\n", "\\\r\n  ", "#", "!", "\\u0041", "\\t", "\\:",
         "\\=", "\\ ", "ä", "€", "x y", "\\\\", "\\q", "v"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@pytest.fixture(scope="module")
def java() -> Iterator[JavaConfiguration]:
    with java_configuration() as process:
        yield process


@many
@given(text=jaas_entries)
@example('a.B required name="a\\"b\\\\c\\tA\\1010" other=x-y_$z;')
@example("a.B required name='it''s';")
@example("a.B required name=5;")
@example('a.B required n="v"; a.C required;')
def test_a_jaas_entry_is_read_as_kafka_reads_it(java: JavaConfiguration, text: str) -> None:
    expected = java.jaas(text)
    try:
        module = parse_jaas(text)
    except UsageError:
        assert expected is None
    else:
        assert [module.name, dict(module.options)] == expected


@many
@given(text=property_texts)
@example(text="a=ä")
@example(text="a=x\x80\xa0\xff€")
def test_a_properties_file_is_read_as_java_reads_it_or_refused(
    java: JavaConfiguration, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "x.properties"
    file.write_bytes(text.encode("utf-8"))
    try:
        found: dict[str, str] | str = dict(read_properties_file(str(file)).values)
    except UsageError as error:
        found = error.message
    if isinstance(found, str):
        # A name that is none, a line that is perhaps a secret alone: those, nothing else.
        assert found.endswith(" is not key=value.")
        return
    expected = java.properties(file.read_bytes())
    assert expected is not None
    expected.pop("", None)  # of a backslash at the very end
    assert found == expected


@many
@given(value=st.binary(max_size=8).filter(lambda value: not set(value) & set(range(0x20)) and b"\\" not in value))
@example(value=b"\xc3\xa4")
@example(value=b"\xe4")
def test_the_bytes_of_a_value_are_javas_characters(java: JavaConfiguration, tmp_path: Path, value: bytes) -> None:
    file = tmp_path / "x.properties"
    file.write_bytes(b"a=" + value)
    assert read_properties_file(str(file)).values == java.properties(file.read_bytes())
