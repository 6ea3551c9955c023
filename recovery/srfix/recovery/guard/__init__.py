"""What will break, told before it does: `srfix guard`. Nothing here writes."""

from srfix.recovery.guard.document import forecast_document
from srfix.recovery.guard.guard import foretell, look_through
from srfix.recovery.guard.looking import Sight
from srfix.recovery.guard.models import (
    Assumed,
    Certainty,
    Forecast,
    Foretold,
    GuardedStore,
    Moment,
    NewSchema,
    StoreForecast,
    StoreKind,
    SubjectForecast,
    Wiring,
)
from srfix.recovery.guard.new_schema import topic_of
from srfix.recovery.guard.optimization import Optimization, parse_optimization
from srfix.recovery.guard.schema_file import parse_schema
