"""Sizes and times as a person reads them."""


def size_text(n_bytes: float) -> str:
    """Decimal units, as the Hub and most file managers count: `4.7 GB`."""
    size = float(n_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return (
                f"{size:.0f} {unit}" if unit in ("B", "kB") or size >= 100 else f"{size:.1f} {unit}"
            )
        size /= 1000
    return f"{size:.1f} TB"


def time_text(seconds: float) -> str:
    """`48 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
