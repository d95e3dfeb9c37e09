"""A GGUF file's header: its metadata, vocabulary and tensors, without loading a weight."""

import msgspec

Scalar = int | float | bool | str


class Tensor(msgspec.Struct, frozen=True):
    """One tensor, as the header lists it."""

    name: str
    shape: tuple[int, ...]
    """As GGUF writes it: the fastest dimension first."""
    type: str
    """ggml's name, such as `Q4_K`."""
    n_bytes: int


class GgufFile(msgspec.Struct, frozen=True, kw_only=True):
    """The header of a model; of all parts of a split one."""

    path: str
    """Where it was read: a path, or an address on the Hub."""
    size_bytes: int
    """Of the file, or of all parts."""
    metadata: dict[str, Scalar | tuple[Scalar, ...]]
    """All keys but the vocabulary's long arrays."""
    tokens: tuple[bytes, ...]
    """The text of every token, by id."""
    tensors: tuple[Tensor, ...]

    @property
    def architecture(self) -> str:
        """`general.architecture`."""
        return str(self.metadata.get("general.architecture", "unknown"))
