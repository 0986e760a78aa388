"""``python -m rillax``."""

from rillax.cli import main

main()
