"""`python -m mane` is the `mane` command."""

import sys

from mane.cli import main

sys.exit(main())
