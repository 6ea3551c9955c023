"""`python -m srfix.cli`: the `srfix` command."""

import sys

from srfix.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
