"""A plan that was signed off: by its digest, noted apart from the file, or by a signature of OpenSSH."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from srfix.recovery.plans.documents import plan_digest
from srfix.recovery.plans.sign_off import NAMESPACE
from srfix.recovery.repair.plan_file import load_plan
from tests.cli.kept_demo import Parts, srfix
from tests.cli.test_bad_input import sentence

KEYGEN = shutil.which("ssh-keygen")


@pytest.fixture
def path(directory: Path) -> Path:
    return directory / "p.json"


def tampered(path: Path) -> None:
    """Another plan under the same name, its digest computed anew."""
    document = json.loads(path.read_text())
    document["price"] = ["nothing at all"]
    path.write_text(json.dumps(document | {"digest": plan_digest(document)}))


class TestExpectDigest:
    def test_the_reviewed_plan_goes_through_all_three(self, parts: Parts, path: Path) -> None:
        digest = load_plan(path).digest
        assert parts.srfix("apply", path, "--yes", "--expect-digest", digest).returncode == 0
        for file in (path, f"{path}.journal.jsonl"):
            assert parts.srfix("verify", file, "--expect-digest", digest).returncode == 0
        assert parts.srfix("rollback", path, "--yes", "--expect-digest", digest).returncode == 0

    def test_a_plan_with_a_digest_computed_anew_is_refused(self, parts: Parts, path: Path) -> None:
        """Seen: it was accepted."""
        digest = load_plan(path).digest
        tampered(path)
        other = load_plan(path).digest
        for command in ("apply", "verify"):
            yes = ["--yes"] if command == "apply" else []
            said = sentence(parts.srfix(command, path, *yes, "--expect-digest", digest))
            assert f"not the one that was reviewed: its digest is {other}, expected {digest}" in said
        assert parts.registry.writes == 0

    def test_a_journal_of_another_plan_is_refused(self, parts: Parts, path: Path) -> None:
        assert parts.srfix("apply", path, "--yes").returncode == 0
        parts.registry.forget_requests()
        for command in ("verify", "rollback"):
            said = sentence(parts.srfix(command, f"{path}.journal.jsonl", "--expect-digest", "sha256:" + "0" * 64))
            assert "is not the one that was reviewed" in said
        assert parts.registry.writes == 0
        assert parts.srfix("rollback", path, "--yes").returncode == 0

    @pytest.mark.parametrize("given", ["", "sha256:", "0" * 64, "sha256:" + "G" * 64, "sha256:" + "0" * 64 + "\n"])
    def test_what_is_no_digest(self, path: Path, given: str) -> None:
        said = sentence(srfix("apply", path, "--yes", f"--expect-digest={given}"))
        assert " is not a digest as srfix plan prints it: sha256: and 64 hexadecimal digits." in said


@pytest.mark.skipif(KEYGEN is None, reason="needs ssh-keygen")
class TestSignature:
    @pytest.fixture
    def key(self, tmp_path: Path) -> Path:
        return self.made(tmp_path / "reviewer")

    def made(self, key: Path) -> Path:
        subprocess.run([str(KEYGEN), "-q", "-t", "ed25519", "-N", "", "-f", key], check=True, timeout=60)
        return key

    def signed(self, key: Path, path: Path, namespace: str = NAMESPACE) -> Path:
        subprocess.run(
            [str(KEYGEN), "-Y", "sign", "-f", key, "-n", namespace, path],
            check=True,
            timeout=60,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        return Path(f"{path}.sig")

    def options(self, signature: Path, key: Path) -> tuple[str | Path, ...]:
        return ("--signature", signature, "--signer-key", f"{key}.pub")

    def test_a_signed_plan_is_carried_out(self, parts: Parts, path: Path, key: Path) -> None:
        signature = self.signed(key, path)
        assert parts.srfix("apply", path, "--yes", *self.options(signature, key)).returncode == 0
        assert parts.srfix("rollback", path, "--yes").returncode == 0

    @pytest.mark.parametrize("what", ["the plan", "the signer", "the purpose", "the signature"])
    def test_another_one_is_refused(self, parts: Parts, path: Path, key: Path, tmp_path: Path, what: str) -> None:
        signature = self.signed(key, path, "file" if what == "the purpose" else NAMESPACE)
        if what == "the plan":
            tampered(path)
        if what == "the signer":
            key = self.made(tmp_path / "somebody")
        if what == "the signature":
            signature.write_text("-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n")
        said = sentence(parts.srfix("apply", path, "--yes", *self.options(signature, key)))
        assert said.startswith(f"The signature {signature} does not match the plan {path} and the key {key}.pub. ")
        assert parts.registry.writes == 0
        assert not Path(f"{path}.journal.jsonl").exists()

    @pytest.mark.parametrize(
        "content",
        ["", "ssh-ed25519", "* ssh-ed25519 AAAA", "ssh-ed25519 AAAA\nssh-ed25519 BBBB", "cert-authority ssh-rsa A"],
    )
    def test_a_signers_key_that_is_none(self, path: Path, key: Path, content: str) -> None:
        signature = self.signed(key, path)
        Path(f"{key}.pub").write_text(content)
        said = sentence(srfix("apply", path, "--yes", *self.options(signature, key)))
        assert said.startswith(f"{key}.pub does not contain exactly one OpenSSH public key on one line")

    def test_without_ssh_keygen(self, path: Path, key: Path) -> None:
        signature = self.signed(key, path)
        said = sentence(srfix("apply", path, "--yes", *self.options(signature, key), env={"PATH": "/nowhere"}))
        assert said.startswith("srfix checks signatures with ssh-keygen, which is not on this machine")
