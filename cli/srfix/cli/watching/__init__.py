"""What `srfix watch` alone has: its options, and its lines. Apart from the other commands', which load less."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.cli.watching.lines import document, in_words, is_news
    from srfix.cli.watching.options import Allow, allow_options, listen_address
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "lines": ["document", "in_words", "is_news"],
            "options": ["Allow", "allow_options", "listen_address"],
        },
    )
