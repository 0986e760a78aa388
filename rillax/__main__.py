"""``python -m rillax``."""

from rillax.cli.main import main

main()
