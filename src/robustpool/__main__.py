"""``python -m robustpool`` is the command ``robustpool``."""

from .cli import main

if __name__ == "__main__":
    main()
