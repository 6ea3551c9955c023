"""One module per output format."""

from srfix.cli.output.interface import (
    Bars,
    Block,
    CarriedId,
    Commands,
    FieldList,
    Folded,
    Heading,
    ItemList,
    OutputFormat,
    Paragraph,
    Picture,
    Report,
    Table,
    Tone,
    Verdict,
)
from srfix.cli.output.rendering import write_report
from srfix.cli.output.speaking import Declined, PrintableFormatter, confirm, say, say_on_the_way, show, show_json
