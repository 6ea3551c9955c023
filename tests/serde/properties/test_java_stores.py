"""Key and trust stores of Java in place of PEM."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.errors import UsageError
from srfix.serde.properties.java.stores import WrongPasswordError, read_jks, shown_key
from srfix.serde.properties.kafka_client import to_librdkafka
from tests.serde.properties.java_stores import (
    CA_PEM,
    CHAIN,
    KEY,
    der,
    jks,
    key_der,
    key_store,
    trust_store,
    with_rounds,
)

PASSWORD = "store-pass"
TRUST: dict[str, Callable[[], bytes]] = {
    "JKS": lambda: jks(PASSWORD, trusted=der(CA_PEM)),
    "PKCS12": lambda: trust_store(CA_PEM, PASSWORD),
}
KEYS: dict[str, Callable[[], bytes]] = {
    "JKS": lambda: jks(PASSWORD, trusted=der(CA_PEM), keys=[(key_der(KEY), PASSWORD, der(CHAIN))]),
    "PKCS12": lambda: key_store(CHAIN, KEY, PASSWORD),
}
passwords = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def refused(properties: dict[str, str]) -> str:
    with pytest.raises(UsageError) as refusal:
        to_librdkafka(properties)
    assert PASSWORD not in refusal.value.message
    assert refusal.value.__context__ is None
    return refusal.value.message


class TestTrustStores:
    @pytest.mark.parametrize("kind", TRUST)
    def test_a_store_becomes_pem_in_memory(self, tmp_path: Path, kind: str) -> None:
        (tmp_path / "trust").write_bytes(TRUST[kind]())
        taken = to_librdkafka(
            {
                "ssl.truststore.location": str(tmp_path / "trust"),
                "ssl.truststore.password": PASSWORD,
                "ssl.truststore.type": "JKS",
            }
        )
        assert taken.keys() == {"ssl.ca.pem"}
        assert der(taken["ssl.ca.pem"].encode()) == der(CA_PEM)
        assert [path.name for path in tmp_path.iterdir()] == ["trust"]

    def test_librdkafkas_own_name_wins(self) -> None:
        given = {"ssl.ca.location": "/ca.pem", "ssl.truststore.location": "/nowhere", "ssl.truststore.password": "x"}
        assert to_librdkafka(given) == {"ssl.ca.location": "/ca.pem"}

    @pytest.mark.parametrize(
        ("content", "password", "why"),
        [
            (TRUST["JKS"](), "other-pass", "it has another password, or was changed"),
            (TRUST["JKS"]()[:-30], None, "it is cut off"),
            (TRUST["PKCS12"](), "other-pass", "it has another password, or a form"),
            (TRUST["PKCS12"](), None, "it is PKCS#12, but its password is missing"),
            (with_rounds(TRUST["PKCS12"]()), PASSWORD, "it asks for 2,147,483,647 rounds of its password's hash"),
            (jks(PASSWORD), PASSWORD, "it holds no certificate"),
            (b"\xce\xce\xce\xce...", PASSWORD, "it is neither JKS nor PKCS#12 nor PEM"),
        ],
    )
    def test_what_cannot_be_read_says_why_and_the_command(
        self, tmp_path: Path, content: bytes, password: str | None, why: str
    ) -> None:
        (tmp_path / "trust").write_bytes(content)
        given = {"ssl.truststore.location": str(tmp_path / "trust")}
        message = refused(given | ({} if password is None else {"ssl.truststore.password": password}))
        assert message.startswith(f"The trust store '{tmp_path / 'trust'}' cannot be used: {why}")
        assert "keytool -list -rfc -keystore STORE > ca.pem" in message

    def test_a_password_without_a_store_is_refused_as_java_does(self) -> None:
        assert refused({"ssl.truststore.password": PASSWORD}).startswith(
            "ssl.truststore.password is given without ssl.truststore.location"
        )


class TestKeyStores:
    @pytest.mark.parametrize("kind", KEYS)
    def test_a_store_becomes_key_and_chain(self, tmp_path: Path, kind: str) -> None:
        (tmp_path / "key").write_bytes(KEYS[kind]())
        given = {"ssl.keystore.location": str(tmp_path / "key"), "ssl.keystore.password": PASSWORD}
        taken = to_librdkafka(given | {"ssl.key.password": PASSWORD})
        assert taken.keys() == {"ssl.certificate.pem", "ssl.key.pem"}
        assert der(taken["ssl.certificate.pem"].encode())[:2] == der(CHAIN)[:2]
        assert key_der(taken["ssl.key.pem"].encode()) == key_der(KEY)

    def test_a_key_may_have_a_password_of_its_own(self, tmp_path: Path) -> None:
        (tmp_path / "key").write_bytes(jks(PASSWORD, keys=[(key_der(KEY), "other-pass", der(CHAIN))]))
        given = {"ssl.keystore.location": str(tmp_path / "key"), "ssl.keystore.password": PASSWORD}
        assert "the key in it has another password" in refused(given)
        assert "ssl.key.pem" in to_librdkafka(given | {"ssl.key.password": "other-pass"})

    def test_pem_is_named_as_a_file_of_both(self, tmp_path: Path) -> None:
        (tmp_path / "me.pem").write_bytes(KEY + CHAIN)
        path = str(tmp_path / "me.pem")
        given = {"ssl.keystore.location": path, "ssl.keystore.type": "PEM", "ssl.key.password": "x"}
        assert to_librdkafka(given) == {
            "ssl.certificate.location": path,
            "ssl.key.location": path,
            "ssl.key.password": "x",
        }

    def test_key_and_chain_may_stand_in_the_file_itself(self) -> None:
        given = {
            "ssl.keystore.key": " ".join(KEY.decode().split("\n")),
            "ssl.keystore.certificate.chain": CHAIN.decode(),
            "ssl.keystore.type": "PEM",
        }
        taken = to_librdkafka(given)
        assert key_der(taken["ssl.key.pem"].encode()) == key_der(KEY)
        assert der(taken["ssl.certificate.pem"].encode()) == der(CHAIN)
        trusted = to_librdkafka({"ssl.truststore.certificates": " ".join(CA_PEM.decode().split("\n"))})
        assert der(trusted["ssl.ca.pem"].encode()) == der(CA_PEM)
        del given["ssl.keystore.certificate.chain"]
        assert "belong together; one is missing" in refused(given)

    def test_of_two_keys_none_is_chosen(self, tmp_path: Path) -> None:
        key = (key_der(KEY), PASSWORD, der(CHAIN))
        (tmp_path / "key").write_bytes(jks(PASSWORD, keys=[key, key]))
        message = refused({"ssl.keystore.location": str(tmp_path / "key"), "ssl.keystore.password": PASSWORD})
        assert "it holds 2 private keys, but srfix needs a store with exactly one." in message


class TestJks:
    @given(
        password=passwords,
        key_password=passwords,
        keys=st.lists(st.binary(max_size=90), max_size=3),
        trusted=st.lists(st.binary(max_size=9), max_size=3),
    )
    def test_what_a_store_holds_comes_out(
        self, password: str, key_password: str, keys: list[bytes], trusted: list[bytes]
    ) -> None:
        content = jks(password, trusted=trusted, keys=[(key, key_password, [b"own", b"above"]) for key in keys])
        for given_password in (password, None):
            store = read_jks(content, given_password)
            assert store.trusted == tuple(trusted)
            assert [shown_key(entry.hidden_key, key_password) for entry in store.keys] == keys
            assert all(entry.chain == (b"own", b"above") for entry in store.keys)
        with pytest.raises(WrongPasswordError):
            read_jks(content, f"{password}x")
        for entry in store.keys:
            with pytest.raises(WrongPasswordError):
                shown_key(entry.hidden_key, f"{key_password}x")

    @given(content=st.binary(max_size=120), whole=st.booleans())
    def test_anything_else_is_a_value_error(self, content: bytes, whole: bool) -> None:
        text = (b"\xfe\xed\xfe\xed\x00\x00\x00\x02" if whole else b"") + content
        try:
            read_jks(text, None)
            shown_key(content, "x")
        except ValueError:
            pass
