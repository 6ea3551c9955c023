"""What may be asked: on a cluster that denies, which the embedded broker cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import pytest

from srfix.recovery.cluster.answers import GroupListing
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.inspect.checkup import Outcome, check_cluster
from srfix.serde.errors import ClusterError
from srfix.serde.subjects.names import Topic


class DenyingCluster:
    """Answers as a broker with ACLs does: a listing is filtered, a group is refused."""

    def __init__(self, topics: Mapping[Topic, int], problem: str | None = None) -> None:
        self._topics = topics
        self._problem = problem

    def topics(self) -> Mapping[Topic, int]:
        return self._topics

    def groups(self) -> GroupListing:
        return GroupListing(groups=(), problem=self._problem)

    def committed(self, group: str, partitions: Iterable[tuple[str, int]]) -> Mapping[tuple[Topic, int], int | None]:
        raise ClusterError(
            f"Failed while reading the committed offsets of {group}: Broker: Group authorization failed."
        )


def outcomes(cluster: DenyingCluster, application: str | None = "shop") -> dict[str, tuple[Outcome, bool, str | None]]:
    checks = check_cluster(cast(Cluster, cluster), application=application)
    return {check.what: (check.outcome, check.is_missing, check.advice) for check in checks}


@pytest.mark.core
class TestCheckCluster:
    def test_a_denied_group_names_the_acl(self) -> None:
        found = outcomes(DenyingCluster({Topic("users"): 1}))
        outcome, is_missing, advice = found["read the committed offsets of shop"]
        assert (outcome, is_missing) == (Outcome.DENIED, True)
        assert "Ask for the ACL Describe on the group 'shop'" in (advice or "")

    def test_a_listing_without_topics_may_be_a_denied_one(self) -> None:
        outcome, is_missing, advice = outcomes(DenyingCluster({}), application=None)["list the topics"]
        assert (outcome, is_missing, advice) == (Outcome.DENIED, True, "Ask for the ACL Describe on the topics.")

    @pytest.mark.parametrize(
        ("problem", "outcome"),
        [
            ("the cluster does not list its groups (Broker: Cluster authorization failed)", Outcome.DENIED),
            (
                "the cluster does not list its groups (Local: Required feature not supported by broker)",
                Outcome.UNSUPPORTED,
            ),
            ("the cluster does not list its groups (Local: Timed out)", Outcome.FAILED),
        ],
    )
    def test_groups_are_not_needed(self, problem: str, outcome: Outcome) -> None:
        found = outcomes(DenyingCluster({Topic("users"): 1}, problem), application=None)["list the consumer groups"]
        assert found[:2] == (outcome, False)
        assert found[2] is not None
        assert ("ACL" in found[2]) is (outcome is Outcome.DENIED)
