"""What `srfix watch` alone has: its options, and its lines. Apart from the other commands', which load less."""

from srfix.cli.watching.lines import document, in_words, is_news
from srfix.cli.watching.options import Allow, allow_options, listen_address
