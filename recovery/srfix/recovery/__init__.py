"""Find out which stores cannot be read, decide, repair, verify, and undo.

This is the front door: `diagnose`, `plan`, `apply`, `verify`, `rollback`, and the types of their arguments and results.
Everything else is private. A name is loaded at its first use.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.recovery.census.interface import Census as Census
    from srfix.recovery.census.interface import CensusRequest as CensusRequest
    from srfix.recovery.census.local import LocalCensus as LocalCensus
    from srfix.recovery.census.spark import SparkCensus as SparkCensus
    from srfix.recovery.cluster.cluster import Cluster as Cluster
    from srfix.recovery.diagnosis.document import diagnosis_document as diagnosis_document
    from srfix.recovery.diagnosis.examination import Examination as Examination
    from srfix.recovery.errors import AppliedInPartError as AppliedInPartError
    from srfix.recovery.errors import KsqldbError as KsqldbError
    from srfix.recovery.errors import LibraryMissingError as LibraryMissingError
    from srfix.recovery.errors import PlanError as PlanError
    from srfix.recovery.errors import RolledBackInPartError as RolledBackInPartError
    from srfix.recovery.errors import StateDirectoryError as StateDirectoryError
    from srfix.recovery.errors import TopologyError as TopologyError
    from srfix.recovery.facts.reader import CheckContext as CheckContext
    from srfix.recovery.facts.reader import Reader as Reader
    from srfix.recovery.facts.reader import StreamsVersion as StreamsVersion
    from srfix.recovery.facts.supplied import Supplied as Supplied
    from srfix.recovery.facts.survey import Survey as Survey
    from srfix.recovery.findings import Diagnosis as Diagnosis
    from srfix.recovery.findings import Finding as Finding
    from srfix.recovery.findings import Severity as Severity
    from srfix.recovery.registry import ReadableRegistry as ReadableRegistry
    from srfix.recovery.registry import Registry as Registry
    from srfix.recovery.repair.plan_file import Plan as Plan
    from srfix.recovery.repair.plan_file import load_plan as load_plan
    from srfix.recovery.repair.plan_file import plan_document as plan_document
    from srfix.recovery.repair.plan_file import save_plan as save_plan
    from srfix.recovery.repair.planning.repairs import Keep as Keep
    from srfix.recovery.repair.shell_script import shell_script as shell_script
    from srfix.recovery.steps import apply as apply
    from srfix.recovery.steps import diagnose as diagnose
    from srfix.recovery.steps import plan as plan
    from srfix.recovery.steps import rollback as rollback
    from srfix.recovery.steps import verify as verify
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "steps": ["apply", "diagnose", "plan", "rollback", "verify"],
            "census.interface": ["Census", "CensusRequest"],
            "census.local": ["LocalCensus"],
            "census.spark": ["SparkCensus"],
            "cluster.cluster": ["Cluster"],
            "diagnosis.examination": ["Examination"],
            "diagnosis.document": ["diagnosis_document"],
            "errors": [
                "AppliedInPartError",
                "KsqldbError",
                "LibraryMissingError",
                "PlanError",
                "RolledBackInPartError",
                "StateDirectoryError",
                "TopologyError",
            ],
            "facts.reader": ["CheckContext", "Reader", "StreamsVersion"],
            "facts.supplied": ["Supplied"],
            "facts.survey": ["Survey"],
            "findings": ["Diagnosis", "Finding", "Severity"],
            "registry": ["ReadableRegistry", "Registry"],
            "repair.plan_file": ["Plan", "load_plan", "plan_document", "save_plan"],
            "repair.planning.repairs": ["Keep"],
            "repair.shell_script": ["shell_script"],
        },
    )
