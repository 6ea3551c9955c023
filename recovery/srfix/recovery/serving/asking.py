"""What a request asks for: its path and parameters as keys, bounds and freshness."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec
from anyio.to_thread import run_sync
from starlette.requests import Request

from srfix.recovery.serving.documents import Fresh, Params, WithinKeys
from srfix.recovery.serving.gathering import offsets_of
from srfix.recovery.serving.node import Freshness
from srfix.recovery.serving.questions import Question, Served
from srfix.recovery.stores.rows import RowFilter
from srfix.recovery.typed_keys import has_prefix, json_of_key, key_bytes
from srfix.serde.errors import EncodeError, UsageError
from srfix.serde.schemas.models import Json

_LAG: Final = re.compile(r"([0-9]{1,18})(ms|s)?", re.ASCII)
_KEEPS_BYTES: Final = "surrogateescape"
_MANY_KEYS: Final = 100


def params_of(request: Request, kind: type[Params]) -> Params:
    """:raises MsgspecError: for a parameter that is not known, or whose value is none."""
    query = request.scope["query_string"].decode("latin-1")
    return msgspec.convert(dict(parse_qsl(query, keep_blank_values=True, errors=_KEEPS_BYTES)), kind, strict=False)


def key_of(request: Request) -> str:
    """The last part of the path, with bytes that are no UTF-8 as surrogates, so that `typed_keys` gets them back."""
    key = str(request.path_params["key"])
    raw = unquote_to_bytes(request.scope.get("raw_path", b"").split(b"/", 4)[-1])
    # They differ if somebody encoded a slash before the key.
    return raw.decode("utf-8", _KEEPS_BYTES) if raw.decode("utf-8", "replace") == key else key


async def keys_of(store: Served, text: str) -> tuple[bytes, ...]:
    """The bytes that a typed key may have: as `srfix state get` reads it, or as JSON or text under each schema of the keys.

    :raises UsageError: if the serializer takes neither.
    """
    raw = key_bytes(text)
    if store.key_bytes is None or has_prefix(text) or text != raw.decode("utf-8", "replace"):
        return (raw,)
    as_json = json_of_key(text)
    return await written_keys(store, (text,) if as_json is None else (as_json, text))


async def written_keys(store: Served, keys: Sequence[Json]) -> tuple[bytes, ...]:
    """
    :raises UsageError: if the serializer takes none of the keys.
    """
    write = store.key_bytes
    assert write is not None

    def all_written() -> tuple[bytes, ...]:
        written: dict[bytes, None] = {}
        problem = ""
        for key in keys:
            try:
                written |= dict.fromkeys(write(key))
            except (EncodeError, UnicodeError) as error:
                problem = str(error)
        if problem and not written:
            raise UsageError(f"{str(keys[0])[:80]!r} is no key of {store.name}: {problem}")
        return tuple(written)

    waits = store.has_framed_keys or len(keys) > _MANY_KEYS
    return await run_sync(all_written) if waits else all_written()


def within_of(params: WithinKeys, store: Served) -> Question:
    """:raises UsageError: for bytes that are none, and for a range that is swapped."""
    prefix, first, last = (
        None if text is None else key_bytes(text) for text in (params.prefix, params.first, params.last)
    )
    within = RowFilter(prefix=prefix, first=first, last=last)
    within.refuse_swapped(store.spec.store.kind.format)
    return Question(within=within)


def freshness_of(params: Fresh, store: Served) -> Freshness:
    """:raises UsageError: for a max_lag or a min_position that is none."""
    most: dict[str, int] = {}
    if params.max_lag is not None:
        lag = _LAG.fullmatch(params.max_lag)
        if lag is None:
            raise UsageError(
                f"max_lag is {params.max_lag[:40]!r}: give a number of records, or a time such as 5s or 500ms."
            )
        number, unit = int(lag[1]), lag[2]
        most = {"max_lag": number} if not unit else {"max_lag_ms": number * (1000 if unit == "s" else 1)}
    token = params.min_position
    return Freshness(
        **most,
        min_offsets={} if token is None else offsets_of(token, store.spec.topic),
        reads_standbys=params.standby == "yes",
    )
