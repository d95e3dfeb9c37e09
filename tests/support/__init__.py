"""Models and helpers that the tests share."""
