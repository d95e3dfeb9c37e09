"""What speculation is worth on this machine: prompt sets, an interleaved run, and its report."""
