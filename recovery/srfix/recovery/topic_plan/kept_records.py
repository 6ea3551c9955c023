"""The file beside a plan with the records that the plan deletes, and that a rollback writes again.

One JSON line per record: partition, offset, key, value, timestamp and headers, bytes in base64. The plan holds the digest of
the file, so neither can be changed without the other.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, cast

import msgspec

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.errors import PlanError
from srfix.recovery.topic_plan.plan_file import KeptRecords
from srfix.serde.files import open_file, parse_json
from srfix.serde.schemas.models import Json

_SUFFIX: Final = ".records.jsonl"
_CHUNK: Final = 1 << 20


def kept_records_path(plan_path: Path) -> Path:
    return plan_path.with_name(plan_path.name + _SUFFIX)


def keep_records(records: Iterable[RawRecord], path: Path) -> KeptRecords:
    """Writes the file whole or not at all, and syncs it."""
    digest, count = hashlib.sha256(), 0
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".srfix-")
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            for record in records:
                line = _line(record)
                digest.update(line)
                stream.write(line)
                count += 1
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _cannot_write(path, error) from error
        raise
    return KeptRecords(file=path.name, records=count, sha256=digest.hexdigest())


def check_kept_records(path: Path, records: KeptRecords) -> None:
    digest = hashlib.sha256()
    try:
        with open_file(path) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise PlanError(
            f"srfix cannot read the plan's records from {path} ({error.strerror}). Without them a rollback could not write "
            "any record again. Put the file from srfix state plan-expiry beside the plan again, or make a new plan."
        ) from error
    if digest.hexdigest() != records.sha256:
        raise PlanError(
            f"The records in {path} do not belong to this plan: the file's digest differs. Put back the file that was "
            "written with the plan, or make a new plan."
        )


def kept_records(path: Path) -> Iterator[RawRecord]:
    """The records, in the order in which they were kept. Check the file first."""
    try:
        with open_file(path) as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    yield _record(cast("dict[str, Json]", parse_json(line)))
                except ValueError as error:
                    raise PlanError(
                        f"Line {number} of {path} is not a record of a plan. Restore the original file."
                    ) from error
    except OSError as error:
        raise PlanError(f"The records of the plan cannot be read from {path} ({error.strerror}).") from error


def _line(record: RawRecord) -> bytes:
    document: dict[str, Json] = {
        "partition": record.partition,
        "offset": record.offset,
        "key": _text(record.key),
        "value": _text(record.value),
        "timestamp": record.timestamp,
        "headers": [[name, _text(content)] for name, content in record.headers],
    }
    return json.dumps(document).encode() + b"\n"


def _record(document: dict[str, Json]) -> RawRecord:
    record = msgspec.convert(document, RawRecord)  # bytes from base64
    if record.key is None or record.value is None:
        raise ValueError("another form")
    return record


def _text(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def _cannot_write(path: Path, error: OSError) -> PlanError:
    return PlanError(
        f"The records of the plan cannot be kept in {path} ({error.strerror}). Make room, or give another file with -o."
    )
