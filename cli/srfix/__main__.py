"""`python -m srfix`: the `srfix` command. Python looks for it beside the rooms."""

import sys

from srfix.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
