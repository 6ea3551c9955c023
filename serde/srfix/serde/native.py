"""The native kernel, where it is installed: the distribution srfix-kernel (`serde/kernel`), a module of Rust.

Everything works without it. `SRFIX_ENGINE=python` leaves it unused.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

from srfix.serde.errors import UsageError

ENGINE_VARIABLE: Final = "SRFIX_ENGINE"
"""`python` or `native`; empty, or not set, for the kernel where it is installed."""
CODEC_ENGINES: Final = ("native", "python")
_CENSUS_ENGINES: Final = ("local", "spark")
"""Which the command line's option `--engine` takes from the same variable: they say nothing of the kernel."""
_VERSION: Final = "0.1.0"
"""Of the kernel that this srfix speaks to: descriptions of programs change with it."""
MOST_DIGITS: Final = 76
"""Of a decimal that the kernel takes: 256 bits hold them."""


class NotTakenError(Exception):
    """The kernel does not read, or write, such a type: which, in words that go on from a column's name."""


@cache
def kernel() -> Any:
    """The module `srfix_kernel`; None where Python does the work."""
    module, why = _load_kernel()
    if module is None and os.environ.get(ENGINE_VARIABLE) == "native":
        raise UsageError(
            f"{ENGINE_VARIABLE} is set to native, but {why}. Install srfix-kernel {_VERSION}, or unset "
            f"{ENGINE_VARIABLE}."
        )
    return module


def engine_in_words() -> str:
    """What reads and writes rows, for a person: `srfix-kernel 0.1.0`, or `Python` and why."""
    module = kernel()
    return f"Python ({_load_kernel()[1]})" if module is None else f"srfix-kernel {module.__version__}"


def _load_kernel() -> tuple[Any, str]:
    """The kernel, or None and why there is none."""
    wanted = os.environ.get(ENGINE_VARIABLE, "")
    if wanted not in ("", *CODEC_ENGINES, *_CENSUS_ENGINES):
        raise UsageError(f"{ENGINE_VARIABLE} is {wanted!r}; it must be native or python, or not set.")
    if wanted == "python":
        return None, f"{ENGINE_VARIABLE}=python"
    try:
        module = import_module("srfix_kernel")
    except ModuleNotFoundError:
        return None, "srfix-kernel is not installed"
    except ImportError as error:
        return None, f"srfix-kernel cannot be loaded: {error}"
    if module.__version__ == _VERSION:
        return module, ""
    return None, f"srfix-kernel {module.__version__} is installed, but this srfix needs {_VERSION}"


def native_decoder_of(decode: object) -> object:
    """The kernel's decoder whose method this is; None if it is none's."""
    native, owner = kernel(), getattr(decode, "__self__", None)
    return owner if native is not None and isinstance(owner, native.Decoder) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeEncode:
    """How the kernel writes rows of one context."""

    encoder: object
    prefix: bytes
    """What stands in front of each body."""
    is_bare: bool
    """The only column's value is the body, and its null is a null payload, which the kernel does not write."""


def native_encoder_of(encode: object) -> object:
    """The kernel's encoder whose method this is; None if it is none's."""
    native, owner = kernel(), getattr(encode, "__self__", None)
    return owner if native is not None and isinstance(owner, native.Encoder) else None
