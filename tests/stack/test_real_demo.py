"""`srfix demo --keep --real`: the incident on a real Kafka, which stays until it is told to end."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from srfix.cli.commands.demo import spark_lines
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from tests.cli.kept_demo import kept_demo, srfix

pytestmark = pytest.mark.stack


def test_the_commands_work_on_it_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    with kept_demo(tmp_path, "--real") as demo:
        env = demo.environment
        servers = env["SRFIX_BOOTSTRAP_SERVERS"]
        cluster = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=30)
        assert not str(cluster.cluster_id).startswith("mock")
        assert damage.TOPICS.items() <= {name: len(topic.partitions) for name, topic in cluster.topics.items()}.items()
        found = srfix("diagnose", "--output", "json", env=env)
        assert found.returncode == 1, found.stderr
        assert "SRF001" in {finding["code"] for finding in json.loads(found.stdout)["findings"]}
        decoded = srfix("decode", "users", "--output", "json", env=env)
        assert (decoded.returncode, len(decoded.stdout.splitlines())) == (0, 14)
        code, out, _ = demo.stop(signal.SIGINT)
    assert code == 0
    for line in spark_lines(servers, env["SRFIX_REGISTRY"]):
        assert line in out
    client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    with pytest.raises(Exception, match="_TRANSPORT"):
        client.list_topics(timeout=2)


def test_without_java_one_sentence_says_how_to_get_it(tmp_path: Path) -> None:
    done = srfix("demo", "--keep", "--real", env={"JAVA_HOME": str(tmp_path)})
    assert done.returncode == 2
    assert "There is no java in" in done.stderr
    assert "make jars" in done.stderr
