"""specchat: a terminal chat with lossless speculative decoding through llama.cpp."""

__version__ = "0.1.0"
