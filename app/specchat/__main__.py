"""`python -m specchat`, the same as the `specchat` command."""

from specchat.cli import main

if __name__ == "__main__":
    main()
