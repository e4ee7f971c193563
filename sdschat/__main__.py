from __future__ import annotations

from sdschat.cli import main

if __name__ == "__main__":
    main()
