"""``python -m rillax``. What lies in the current directory is not imported, as in ``rillax``.

Python puts that directory first in its path, so a file ``gymnax.py`` in the directory of somebody
else's run would be executed. A user's own parts are looked for there by name
(``rillax.utils.own``).
"""

import os
import sys

if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

from rillax.cli.main import main

main()
