"""Conversations: templates. Nothing native."""
