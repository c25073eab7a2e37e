"""The command line as `python -m zoo`, for an environment whose scripts aren't on the path."""

from zoo.cli import main

main()
