"""`python -m specchat.engine`: the child process."""

from specchat.engine.worker import main

if __name__ == "__main__":
    main()
