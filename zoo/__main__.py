"""The command line as a program: as the console script `zoo`, and as `python -m zoo` for an environment whose scripts
aren't on the path."""

import signal


def main() -> None:
    """Run the command line. Ctrl-C ends the program without a traceback while it is still being imported."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `zoo.cli.main` handles it
    from zoo.cli import main as run

    run()


if __name__ == "__main__":
    main()
