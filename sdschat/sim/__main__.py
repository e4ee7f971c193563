from __future__ import annotations

import sys

from sdschat.sim.runner import main

if __name__ == "__main__":
    sys.exit(main())
