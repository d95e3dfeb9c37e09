"""Screens that come in front of the chat."""
