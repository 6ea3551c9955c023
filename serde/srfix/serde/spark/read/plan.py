"""How a topic's payloads become rows: decided once, on the driver, in plain Python.

A plan holds every schema that the payloads are known to carry, under which subject it was found, and which writer field
feeds which column. It is picklable, printable (`explain`), and works without Spark.

The schemas are those of all versions, live and soft-deleted, of the policy's subjects (the topic's own, for `ById` and
for strategies that make subjects of records' names), of `subjects`, and those of `ids`. What is not among them, a GUID in
a header above all, is resolved where it is met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from srfix.serde.html import preformatted
from srfix.serde.registries.given import AnyClient, usable_registry
from srfix.serde.spark.read.decisions import ReadDecisions
from srfix.serde.spark.read.explain import explanation, summary
from srfix.serde.spark.read.filling import filled
from srfix.serde.spark.read.plan_registry import Asked, PlanRegistry


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReadPlan(ReadDecisions):
    """How payloads are read. Made by `plan_read`.

    Plans are equal if they decide the same (`digest`). Picklable if the policy is; literal secrets refuse to travel.
    """

    def _repr_html_(self) -> str:
        return preformatted(self.explain())

    def explain(self, extended: bool = False) -> str:
        """The plan for a person, in at most ten lines: columns, which ids are read, whose rows are bad and why, which
        columns stay null.

        :param extended: True for all of it: which writer field feeds which column, for which id, under which subject; what
            was refused, and what each engine makes of it.
        """
        return explanation(self) if extended else summary(self)

    def refreshed(self, registry: PlanRegistry | AnyClient) -> ReadPlan:
        """The plan with the versions that its subjects have got since; asks for those alone, and again for the ids that
        were refused. Columns stay as they are, `NEWEST` ones too.

        :raises RegistryError: if the registry could not be asked.
        """
        if self.policy is None:
            return self
        return filled(
            self,
            Asked(cast("PlanRegistry", usable_registry(registry))),
            (refusal.schema_id for refusal in self.refusals),
        )
