"""What each command of its own does; `cli` says how it is called."""
