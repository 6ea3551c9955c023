"""One module per output format."""

from srfix.cli.output.interface import (
    Block,
    Commands,
    FieldList,
    Heading,
    ItemList,
    OutputFormat,
    Paragraph,
    Report,
    Table,
)
from srfix.cli.output.rendering import write_report
from srfix.cli.output.speaking import Declined, PrintableFormatter, confirm, say, say_on_the_way, show, show_json
