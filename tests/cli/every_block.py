"""A block of each kind, for what must hold in every format; and texts that want to be more than text."""

from __future__ import annotations

from srfix.cli.output.interface import (
    Bars,
    Block,
    CarriedId,
    Changes,
    Commands,
    FieldList,
    Folded,
    Heading,
    ItemList,
    Paragraph,
    Picture,
    Table,
)

HOSTILE = (
    "<script>alert(1)</script>-value",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><script>alert(1)</script>",
    "</title></head><body onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}{{ self }}",
    "<!--",
    "]]>&lt;&#x3c;&amp",
    "javascript:alert(1)",
    "a\u202egnp.js\u2066",
    "a\x00\x1b[2J\x9b\r\x07",
    "\ud800\udfff",
    "\u200b\ufeff\U000e0041",
)


def blocks_of(text: str, *, number: int = 7) -> tuple[Block, ...]:
    """One block of each kind, with the text wherever a text can stand."""
    plain: tuple[Block, ...] = (
        Heading(text),
        Heading(text, level=2),
        Paragraph(text, is_warning=True),
        Paragraph(f"{text} `srfix plan --store {text}` {text}"),
        ItemList((text, text), is_numbered=True),
        ItemList((text,)),
        FieldList(((text, text),), title=text),
        Commands((text, text)),
        Changes(text, (("+", text), ("~", text), ("-", text))),
        Table((text, text), ((text, text),), title=text),
        Bars((text, text), ((text, (number,)),), title=text),
        Picture(
            topic=text,
            application=text,
            store=text,
            subject=text,
            is_phantom=True,
            carried=(CarriedId(schema_id=number, where=text),),
            kept=(number,),
            held=(number,),
            lacking=(number,),
        ),
    )
    return (*plain, Folded(text, plain, is_open=True), Folded(text, (Folded(text, plain),)))
