"""How far to draft."""

from typing import Protocol


class LengthController(Protocol):
    """Decides, token by token, whether drafting one more is worth it."""

    def wants_more(self, drafted: int) -> bool:
        """Whether to draft another token after this many; False at 0 drafts nothing."""
        ...

    @property
    def reason(self) -> str:
        """What the last round did and why, in words for the panel."""
        ...


class FixedLength:
    """The same draft length every round; 0 is plain decoding."""

    def __init__(self, length: int) -> None:
        self.length = length

    def wants_more(self, drafted: int) -> bool:
        """Until the length is reached."""
        return drafted < self.length

    @property
    def reason(self) -> str:
        """The fixed length, in words."""
        return f"drafting {self.length}, fixed" if self.length else "plain decoding"
