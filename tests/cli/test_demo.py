"""`srfix demo`, the story: every step in order, nothing left behind, whatever the terminal and the environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, environment

IN_ORDER = (
    "1. A table's source topic, and the two schemas\n",
    "\n0:2   u1     2    1        Ada King ",
    '"name":"loyaltyTier"',
    '"name":"EMAILADDRESS"',
    "2. The node moves, the store is restored, and a row is read\n",
    "Error retrieving Avro value schema version for id 2",
    "$ srfix diagnose\n",
    "SRF001, broken: _confluent-ksql-default_query_CSAS_J_0 / KafkaTopic_Right-Reduce\n",
    "1 finding, 1 store examined",
    "$ srfix plan -o ",
    "Plan written to ",
    "A reader with the dual-subject fallback can read at any time",
    '{"USERID": 1, "FULLNAME": "Ada King", "EMAILADDRESS": "ada@example.com"}',
    "message Schema id 2 is not registered under ",
    "$ srfix apply ",
    "Step 6 of 6: ",
    "Applied: 6 of 6 steps carried out\n",
    "$ srfix verify ",
    "5 checks passed, 0 problems.\n",
    "$ srfix diagnose\n",
    "0 findings, 1 note",
    "The read that failed\n",
    '{"USERID": 1, "FULLNAME": "Ada King", "EMAILADDRESS": "ada@example.com"}',
    "$ srfix rollback ",
    "Error retrieving Avro value schema version for id 2",
    "The registry is as it was before the repair, to the last version.\n",
)
"""What stands in the story, in this order."""


def follows(story: str) -> None:
    position = 0
    for piece in IN_ORDER:
        position = story.find(piece, position)
        assert position >= 0, f"{piece!r} is missing, or stands too early"


class TestDemo:
    def test_it_tells_every_step_in_order_and_leaves_nothing(self, tmp_path: Path) -> None:
        with FixtureRegistry() as other:
            done = subprocess.run(
                [SRFIX, "demo"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,  # one file, as in `srfix demo > story.txt 2>&1`
                text=True,
                timeout=TIMEOUT_S,
                check=False,
                # What a person has set for their own cluster must not lead the story there, or change its form.
                env=environment(
                    {
                        "TMPDIR": str(tmp_path),
                        "SRFIX_REGISTRY": other.url,
                        "SRFIX_BOOTSTRAP_SERVERS": "127.0.0.1:1",
                        "SRFIX_OUTPUT": "json",
                        "SRFIX_APPLICATION": "another",
                    }
                ),
            )
            assert other.requests == ()
        assert done.returncode == 0, done.stdout[-2000:]
        follows(done.stdout)
        assert "\x1b" not in done.stdout
        assert not [line for line in done.stdout.splitlines() if line != line.rstrip()]
        assert list(tmp_path.iterdir()) == []
