"""`--deadline` and `--max-records`: a census that stops early is said to be partial, and never called healthy."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from srfix.cli.options.options import Hurry, hurry_options
from srfix.cli.session import show_progress
from srfix.recovery.census.interface import CensusProgress
from srfix.serde import Topic, UsageError
from tests.cli.kept_demo import Parts, document

AT_ONCE = ("--deadline", "0.000001")
"""Over before the first record."""


class TestScan:
    def test_a_partial_census_is_said_to_be_one(self, parts: Parts) -> None:
        done = parts.srfix("scan", "users", "--max-records", "3", "--output", "json")
        assert done.returncode == 2
        topic = document(done.stdout)["topics"][0]
        assert topic["partial"] is True
        partitions = topic["roles"]["value"]["partitions"]
        assert sum(partition["records"] for partition in partitions) == 3
        assert {p["stopped_early"] is None for p in partitions} >= {False}


class TestDiagnose:
    def test_nothing_found_in_what_was_read_is_no_clean_bill_of_health(self, parts: Parts) -> None:
        done = parts.srfix("diagnose", "--details", *AT_ONCE, "--output", "json")
        assert done.returncode == 2, done.stderr
        told = document(done.stdout)
        assert (told["findings"], told["summary"]["healthy"]) == ([], False)
        reasons = [s["reason"] for s in told["skipped"] if s["could_hide_a_finding"]]
        assert "offsets 0 to 4 were not read: the deadline of 1e-06 s (--deadline) was reached" in reasons

    def test_what_was_found_is_a_finding_with_at_least_so_many_keys(self, parts: Parts) -> None:
        done = parts.srfix("diagnose", "--details", "--max-records", "13")
        assert done.returncode == 1, done.stderr
        words = " ".join(done.stdout.split())
        assert "(at least " in words
        assert "srfix did not read the topic to its end, so these are the keys of the records that it read" in words
        assert "At least this many: the topic was not read to its end" in words
        found = document(parts.srfix("diagnose", "--details", "--max-records", "13", "--output", "json").stdout)[
            "findings"
        ]
        assert all(fault["partial"] for finding in found for fault in finding["schema_ids"])

    def test_a_masked_store_is_not_said_to_be_readable(self, own_parts: Parts, tmp_path: Path) -> None:
        assert own_parts.srfix("plan", "-o", "p.json", cwd=tmp_path).returncode == 0
        assert own_parts.srfix("apply", "p.json", "--yes", cwd=tmp_path).returncode == 0
        whole = own_parts.srfix("diagnose", "--details")
        assert (whole.returncode, "So the store can be read" in " ".join(whole.stdout.split())) == (0, True)
        done = own_parts.srfix("diagnose", "--details", "--max-records", "13")
        words = " ".join(done.stdout.split())
        assert (done.returncode, "So the store can be read" in words, "Nothing is broken now" in words) == (
            2,
            False,
            False,
        )
        assert "so srfix does not know whether the store can be read" in words


class TestPlan:
    def test_the_price_says_that_ids_may_be_missing_and_undeleted_versions_are_planned(self, parts: Parts) -> None:
        whole = document(parts.srfix("plan", "--output", "json").stdout)
        assert not [line for line in whole["price"] if "to its end" in line]
        done = parts.srfix("plan", "--max-records", "13", "--output", "json")
        assert done.returncode == 0, done.stderr
        hurried = document(done.stdout)
        assert (
            len([line for line in hurried["price"] if line.startswith("srfix did not read topic users to its end")])
            == 1
        )
        assert hurried["actions"] == whole["actions"]

    def test_nothing_to_do_as_far_as_was_read_is_refused(self, parts: Parts) -> None:
        done = parts.srfix("plan", *AT_ONCE)
        assert done.returncode == 2
        assert "Not looked at: topic users, partition 0: offsets 0 to 4 were not read" in done.stderr


@click.command()
@hurry_options
def probe(hurry: Hurry) -> Hurry:
    """Hands back what it was handed."""
    return hurry


def ask(*arguments: str, **environment: str) -> Hurry:
    result = CliRunner().invoke(probe, arguments, env=environment, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert isinstance(result.return_value, Hurry)
    return result.return_value


class TestTheOptions:
    @pytest.mark.parametrize(
        "arguments", [("--deadline", "0"), ("--deadline", "-1"), ("--max-records", "0"), ("--max-records", "1.5")]
    )
    def test_what_is_no_limit_is_refused(self, arguments: tuple[str, str]) -> None:
        with pytest.raises(click.BadParameter):
            ask(*arguments)

    @pytest.mark.parametrize("text", ["nan", "inf"])
    def test_so_is_what_is_no_time(self, text: str) -> None:
        with pytest.raises(UsageError, match=rf"^--deadline takes a number of seconds, not {text};"):
            ask("--deadline", text)

    def test_the_configuration_file_may_name_them(self, parts: Parts, tmp_path: Path) -> None:
        (tmp_path / "srfix.toml").write_text("deadline = 600\nmax-records = 3\n")
        done = parts.srfix("scan", "users", "--config", "srfix.toml", cwd=tmp_path)
        assert (done.returncode, "users: 3 records" in done.stdout) == (2, True)


class TestProgress:
    @pytest.mark.parametrize(
        ("elapsed_s", "deadline_s", "left"),
        [(2.0, None, "18 s"), (40.0, None, "6 min 0 s"), (2_000.0, None, "5 h 0 min"), (40.0, 50.0, "10 s")],
    )
    def test_it_says_rate_and_time_left(
        self, capsys: pytest.CaptureFixture[str], elapsed_s: float, deadline_s: float | None, left: str
    ) -> None:
        progress = CensusProgress(
            topic=Topic("users"), records_done=4_000, records_total=40_000, elapsed_s=elapsed_s, deadline_s=deadline_s
        )
        show_progress()(progress)
        assert capsys.readouterr() == (
            "",
            f"Reading users: 4,000 of at most 40,000 records (10 %), {4_000 / elapsed_s:,.0f} a second, {left} left.\n",
        )

    def test_before_the_first_record_nothing_is_promised(self, capsys: pytest.CaptureFixture[str]) -> None:
        show_progress()(CensusProgress(topic=Topic("users"), records_done=0, records_total=9, elapsed_s=3.0))
        assert capsys.readouterr().err == "Reading users: 0 of at most 9 records (0 %), 0 a second.\n"
