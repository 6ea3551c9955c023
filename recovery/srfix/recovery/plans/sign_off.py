"""Whether a plan is the one that a reviewer signed off: by its digest, noted apart from the file, or by a detached signature.

The digest within a plan only shows accidents, because whoever changes a plan can also change its digest. Signatures are
OpenSSH's: `ssh-keygen -Y verify` does all the work; srfix has no cryptography of its own.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from srfix.recovery.errors import PlanError
from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import read_file

NAMESPACE: Final = "srfix.plan"
"""The namespace of plan signatures, in OpenSSH's sense: a signature for another purpose does not count."""
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_PUBLIC_KEY: Final = re.compile(r"((?:ssh|ecdsa|sk)-[A-Za-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?: [^\n]*)?\n?")
_SIGNER: Final = "signer"
_PATIENCE_S: Final = 60.0


def require_digest(digest: str, expected: str | None, *, where: Path) -> None:
    if expected is None:
        return
    if not _DIGEST.fullmatch(expected):
        raise UsageError(
            f"--expect-digest {expected!r} is not a digest as srfix plan prints it: sha256: and 64 hexadecimal digits."
        )
    if digest != expected:
        raise PlanError(
            f"The plan in {where} is not the one that was reviewed: its digest is {digest}, expected {expected}. Nothing was "
            "written. Get this plan reviewed, or use the file that was reviewed."
        )


def signed_plan(path: Path, *, signature: Path, signer_key: Path) -> bytes:
    """A plan's content, if this signature (`ssh-keygen -Y sign -f KEY -n srfix.plan PLAN`) is the signer's."""
    sealed = _read(signature, "signature")
    match = _PUBLIC_KEY.fullmatch(_read(signer_key, "signer's key").decode("ascii", "replace"))
    if match is None:
        raise UsageError(
            f"{signer_key} does not contain exactly one OpenSSH public key on one line, as a .pub file does. Give the public "
            "key of the person who reviewed the plan."
        )
    try:
        content = read_file(path, most_bytes=bounds.MOST_PLAN_BYTES)
    except OSError as error:
        raise PlanError(f"The plan {path} cannot be read ({error.strerror}).") from error
    with tempfile.TemporaryDirectory(prefix="srfix-signature-") as scratch:
        (Path(scratch) / "signature").write_bytes(sealed)
        (Path(scratch) / "signers").write_text(f'{_SIGNER} namespaces="{NAMESPACE}" {match[1]} {match[2]}\n')
        command = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", _SIGNER, "-n", NAMESPACE, "-s", "signature"]
        try:
            ran = subprocess.run(  # noqa: S603  (no word of it comes from outside)
                command, input=content, capture_output=True, timeout=_PATIENCE_S, check=False, cwd=scratch
            )
        except FileNotFoundError as error:
            raise UsageError(
                "srfix checks signatures with ssh-keygen, which is not on this machine. Install OpenSSH (8.1 or later), or "
                "give --expect-digest instead."
            ) from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(
                f"ssh-keygen could not check the signature ({type(error).__name__}). Try it by hand."
            ) from error
    if ran.returncode:
        raise PlanError(
            f"The signature {signature} does not match the plan {path} and the key {signer_key}. Nothing was written. To make "
            f"a signature: ssh-keygen -Y sign -f KEY -n {NAMESPACE} PLAN."
        )
    return content


def _read(path: Path, what: str) -> bytes:
    try:
        return read_file(path, most_bytes=bounds.MOST_SETTINGS_BYTES)
    except OSError as error:
        raise UsageError(f"The {what} {path} cannot be read: {error.strerror}.") from error
