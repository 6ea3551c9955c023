"""What `srfix state` does with each part of a store, here or on a Spark worker."""

from srfix.recovery.state_jobs.comparing import CompareWork, ToCompare, ranges_to_compare
from srfix.recovery.state_jobs.exporting import ExportedPart, export_on_spark
from srfix.recovery.state_jobs.interface import Part, PartsEngine, Result, Work
from srfix.recovery.state_jobs.on_spark import PartsOnSpark
from srfix.recovery.state_jobs.rebuilding import BuildOnSpark
from srfix.recovery.state_jobs.scanning import ScannedPart, ScanWork
from srfix.recovery.state_jobs.second_answers import SecondAnswers
