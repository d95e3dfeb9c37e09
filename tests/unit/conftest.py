"""Property tests of this folder: the same examples on every machine, and no clock on them."""

from hypothesis import settings

settings.register_profile("unit", max_examples=100, deadline=None, derandomize=True)
settings.load_profile("unit")
