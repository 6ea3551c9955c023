"""The native kernel (srfix-kernel, `serde/kernel`, in Rust), if it is installed. `SRFIX_ENGINE=python` turns it off."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

from srfix.serde.errors import UsageError

ENGINE_VARIABLE: Final = "SRFIX_ENGINE"
"""`python` or `native`; if empty or not set, the kernel is used if it is installed."""
CODEC_ENGINES: Final = ("native", "python")
_CENSUS_ENGINES: Final = ("local", "spark")
"""Values of the same variable for the command line's option `--engine`. They do not concern the kernel."""
_VERSION: Final = "0.1.0"
"""The version of the kernel that this srfix works with: the format of descriptions changes with it."""
MOST_DIGITS: Final = 76
"""The most digits of a decimal in the kernel, which uses 256 bits."""


class NotTakenError(Exception):
    """The kernel does not read, or write, this type. The message continues a sentence after the column's name."""


@cache
def kernel() -> Any:
    """The module `srfix_kernel`; None if Python does the work."""
    module, why = _load_kernel()
    if module is None and os.environ.get(ENGINE_VARIABLE) == "native":
        raise UsageError(
            f"{ENGINE_VARIABLE} is set to native, but {why}. Install srfix-kernel {_VERSION}, or unset "
            f"{ENGINE_VARIABLE}."
        )
    return module


def engine_in_words() -> str:
    """The engine that reads and writes rows, in words: `srfix-kernel 0.1.0`, or `Python` and the reason."""
    module = kernel()
    return f"Python ({_load_kernel()[1]})" if module is None else f"srfix-kernel {module.__version__}"


def _load_kernel() -> tuple[Any, str]:
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


def native_codec_of(method: object) -> object:
    """The kernel's decoder or encoder to which this method belongs; None if it belongs to none."""
    native, owner = kernel(), getattr(method, "__self__", None)
    return owner if native is not None and isinstance(owner, native.Decoder | native.Encoder) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeEncode:
    encoder: object
    prefix: bytes
    is_bare: bool
    """True if the only column's value is the body. Its null is a null payload, which the kernel does not write."""
