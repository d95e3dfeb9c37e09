"""The heart: draft, verify, keep, roll back. No screen, no files, no process."""
