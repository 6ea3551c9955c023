"""What a row may hold, and what is said where it does not fit."""

from srfix.serde.formats.rows.bare import bare_value, check_json_columns
from srfix.serde.formats.rows.checks import FieldCheck, RecordCheck, array_check, entries_check, map_check
from srfix.serde.formats.rows.misfit import Misfit, encode_error
from srfix.serde.formats.rows.nesting import nests_deeper
from srfix.serde.formats.rows.value_check import MISSING, NULL, Convert, ValueCheck, nullable, or_none
