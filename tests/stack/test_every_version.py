"""State directories of other releases, made by an application with a store of every kind and partitions without rows."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from parts.streams.every_store.application import EveryStoreApplication, create_topics, produce
from parts.streams.every_store.model import EveryStoreSetup
from parts.streams.every_store.records import source_records
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.recovery.state.reading.store import open_stores
from tests.stack.command import run_srfix
from tests.stack.scene import without_what_is_made
from tests.stack.test_every_store import answers, on_disk, state_of

pytestmark = pytest.mark.stack

VERSIONS: Final = {
    "2.5.1": {},
    "3.1.2": {"processing.guarantee": "exactly_once_v2"},
    "3.6.2": {},
    "4.2.0": {},
}
FEW: Final = 3
"""Rounds of records: not every partition gets one."""


@pytest.mark.parametrize("version", VERSIONS)
def test_they_are_read_sized_exported_and_compared(broker: KraftBroker, tmp_path: Path, version: str) -> None:
    setup = EveryStoreSetup(
        application=f"every-{uuid4().hex[:8]}",
        bootstrap_servers=broker.bootstrap_servers,
        state_directory=tmp_path / "state",
        version=version,
        config=VERSIONS[version],
    )
    with without_what_is_made(broker):
        create_topics(broker, setup)
        produce(setup, source_records(rounds=FEW))
        with EveryStoreApplication(setup) as application:
            application.wait_for_state("RUNNING")
            application.wait_for_records()
            answered = answers(application, setup)
        read = on_disk(setup.folder)
        # 3.6.2 cannot be asked for the versions that it keeps: they are read all the same.
        assert {store: rows for store, rows in read.items() if rows and (store in answered or version != "3.6.2")} == {
            store: rows for store, rows in answered.items() if rows
        }
        partitions = {(store.name, store.partition) for store in open_stores(state_of(setup.folder))}
        rows = {(store, row[0]) for store, found in read.items() for row in found}
        assert partitions > rows, "every partition has rows"
        folder = str(setup.folder)
        sizes = json.loads(run("state", "size", folder, "--output", "json", broker=broker))
        assert {store["store"] for store in sizes["stores"]} == set(read)
        for store in read:
            out = tmp_path / "out" / store
            run("state", "scan", folder, "--store", store, "--output", "json", broker=broker)
            run("state", "export", folder, "--store", store, "--to", "parquet", "-o", str(out), broker=broker)
            run("state", "diff", folder, "--store", store, "--output", "json", broker=broker)


def run(*arguments: str, broker: KraftBroker) -> str:
    ran = run_srfix(*arguments, env=os.environ | {"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers})
    assert ran.returncode == 0, f"srfix {arguments} exited with {ran.returncode}: {ran.stdout}{ran.stderr}"
    return ran.stdout
