"""The parts of the screen, one subject a file."""
