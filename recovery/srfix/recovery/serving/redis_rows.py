"""Rows in a Redis or Valkey, or a cluster of either, instead of local RocksDB: for those who outgrow a machine's disks.

    {srfix/<application>/<store>/<partition>}:progress      how far the log was read
    …:parts                                                 the parts that have rows
    …:<part>:keys                                           the keys, in the order of their bytes
    …:<part>:rows                                           key → value

The braces put all keys of a partition into one slot of a cluster, so that a batch is one transaction. It fails if another
member has written to the partition meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import msgspec

from srfix.recovery.errors import StateDirectoryError, WrittenElsewhereError
from srfix.recovery.serving.databases import Changes, MakeDatabase
from srfix.recovery.serving.partition import Progress
from srfix.recovery.state.rocksdb import ROWS_IN_A_CHUNK, OpenedDatabase
from srfix.serde.errors import UsageError

_TIMEOUT_S: Final = 5


def redis_rows(url: str, application: str) -> MakeDatabase:
    """Databases in the Redis at a URL (`redis://`, `rediss://`; `redis+cluster://` for a cluster).

    :raises UsageError: if redis-py is not installed, the URL is none, or its Redis does not answer, or throws rows away.
    """
    try:
        import redis
    except ImportError:
        raise UsageError("rows in Redis need the package redis; install it with: pip install 'srfix[redis]'") from None
    try:
        if "+cluster" in url.partition("://")[0]:
            client: Any = redis.RedisCluster.from_url(url.replace("+cluster", "", 1), socket_timeout=_TIMEOUT_S)
        else:
            client = redis.Redis.from_url(url, socket_timeout=_TIMEOUT_S)
        memory = client.info("memory")
    except ValueError:
        raise UsageError(
            "--rows-in is not the URL of a Redis. Give redis://HOST:6379, rediss:// for TLS, or redis+cluster://."
        ) from None
    except redis.RedisError as error:
        raise UsageError(
            f"The Redis of --rows-in does not answer ({type(error).__name__}). Check host, port, user and password of its URL."
        ) from None
    # Of a cluster's nodes, one answers.
    if str(memory.get("maxmemory_policy")).startswith("allkeys"):
        raise UsageError(
            "The Redis of --rows-in throws rows away when its memory is full (maxmemory-policy). Set it to noeviction."
        )
    return lambda store, number: RedisDatabase(client, f"{{srfix/{application}/{store}/{number}}}")


@contextmanager
def _in_words() -> Iterator[None]:
    """Turns what Redis says into an error of srfix, without the values in it."""
    from redis import RedisError

    try:
        yield
    except RedisError as error:
        raise StateDirectoryError(
            f"Redis did not do what was asked ({type(error).__name__}). Check that it runs."
        ) from None


def _offset(progress: bytes | None) -> int:
    return 0 if progress is None else msgspec.json.decode(progress, type=Progress).offset


class RedisDatabase:
    is_near = False

    def __init__(self, client: Any, name: str) -> None:
        self.client = client
        self.name = name
        with _in_words():
            self._progress: bytes | None = client.get(f"{name}:progress")

    def progress(self) -> bytes | None:
        return self._progress

    def parts(self) -> Sequence[int]:
        """
        :raises StateDirectoryError: if Redis has lost what this member wrote, or does not answer.
        """
        with _in_words():
            if _offset(self.client.get(f"{self.name}:progress")) < _offset(self._progress):
                raise StateDirectoryError("Redis has lost rows: it was restarted or emptied. Restart `srfix serve`.")
            return sorted(int(part) for part in self.client.smembers(f"{self.name}:parts"))

    def rows(self, part: int, family: str, *, is_frozen: bool = False) -> OpenedDatabase:
        return _RedisRows(self.client, f"{self.name}:{part}", family)

    def drop(self, part: int) -> None:
        with _in_words():
            self.client.delete(f"{self.name}:{part}:keys", f"{self.name}:{part}:rows")
            self.client.srem(f"{self.name}:parts", part)

    def clear(self) -> None:
        with _in_words():
            self.client.delete(f"{self.name}:progress")
        self._progress = None
        for part in self.parts():
            self.drop(part)

    def measured(self) -> Mapping[str, int]:
        with _in_words():
            return {"rows": sum(self.client.zcard(f"{self.name}:{part}:keys") for part in self.parts())}

    def close(self) -> None:
        """The client stays open: other partitions use it, too."""

    def commit(self, changes: Changes, progress: bytes, *, is_filling: bool = False) -> None:
        """
        :raises WrittenElsewhereError: if another member has written meanwhile; nothing of the batch is written.
        :raises StateDirectoryError: if Redis does not answer.
        """
        from redis import WatchError

        with _in_words(), self.client.pipeline(transaction=True) as pipe:
            pipe.watch(f"{self.name}:progress")
            if pipe.get(f"{self.name}:progress") != self._progress:
                self._refuse()
            pipe.multi()
            for part, rows in changes.items():
                put = {key: value for key, value in rows.items() if value is not None}
                gone = rows.keys() - put.keys()
                if put:
                    pipe.zadd(f"{self.name}:{part}:keys", dict.fromkeys(put, 0))
                    pipe.hset(f"{self.name}:{part}:rows", mapping=put)
                    pipe.sadd(f"{self.name}:parts", part)
                if gone:
                    pipe.zrem(f"{self.name}:{part}:keys", *gone)
                    pipe.hdel(f"{self.name}:{part}:rows", *gone)
            pipe.set(f"{self.name}:progress", progress)
            try:
                pipe.execute()
            except WatchError:
                self._refuse()
        self._progress = progress

    def _refuse(self) -> NoReturn:
        self._progress = self.client.get(f"{self.name}:progress")
        raise WrittenElsewhereError("another member has written this partition in Redis")


class _RedisRows(OpenedDatabase):
    def __init__(self, client: Any, name: str, family: str) -> None:
        super().__init__({family: client})
        self._client = client
        self._name = name

    def chunks(
        self, family: str, *, start: bytes | None = None, size: int = ROWS_IN_A_CHUNK
    ) -> Iterator[list[tuple[bytes, bytes]]]:
        after = b"-" if start is None else b"[" + start
        while True:
            with _in_words():
                keys = self._client.zrangebylex(f"{self._name}:keys", after, b"+", start=0, num=size)
                values = self._client.hmget(f"{self._name}:rows", keys) if keys else []
            if not keys:
                return
            pairs = [(key, value) for key, value in zip(keys, values, strict=True) if value is not None]
            if pairs:
                yield pairs
            after = b"(" + keys[-1]

    def get(self, family: str, key: bytes) -> bytes | None:
        with _in_words():
            value = self._client.hget(f"{self._name}:rows", key)
        return value if isinstance(value, bytes) else None
