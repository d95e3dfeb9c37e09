"""Which pair is loaded, and how it is placed: between the commands and the engine."""
