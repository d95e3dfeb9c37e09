"""The screen. It talks to the engine's process and imports nothing native."""
