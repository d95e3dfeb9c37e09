"""A GGUF file, loaded."""

import ctypes
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from specchat.errors import (
    InvalidSetting,
    ModelNotFound,
    NotAModel,
    OutOfMemory,
    UnsupportedModel,
)
from specchat.llama.devices import choose_devices, find_devices
from specchat.llama.library import Library
from specchat.llama.vocabulary import Vocabulary

Progress = Callable[[float], bool]
"""Told the loaded fraction, 0 to 1; False ends the load."""

GGUF_MAGIC = b"GGUF"

EXPERTS = rb"\.ffn_[a-z_]*exps\."
"""Names of the tensors that hold a mixture's experts, those of `chexps` included."""


class _Override(ctypes.Structure):
    """`llama_model_tensor_buft_override` (llama.h), which the bindings leave out."""

    _fields_ = (("pattern", ctypes.c_char_p), ("buffer_type", ctypes.c_void_p))


class Model:
    """The weights and the vocabulary. Close its contexts before it.

    Args:
        n_gpu_layers: layers on other devices than the CPU; -1 for all.
        devices: names of these other devices; None leaves the choice to llama.cpp.
        servers: addresses of the RPC servers whose devices may be used.
        experts_in_ram: the experts of a mixture stay in main memory, whatever device their layers
            are on.
        load_mtp: load the MTP heads in the file too; only where it really has them.
        is_head: the file is a trained head alone, which writes no text by itself.

    Raises:
        InvalidSetting: there is no such device, or experts cannot be held apart here.
        ModelNotFound: no readable file is there.
        NotAModel: it is no GGUF, or a damaged one.
        UnsupportedModel: llama.cpp does not know the architecture, or it writes no text.
    """

    def __init__(
        self,
        library: Library,
        path: str | Path,
        *,
        n_gpu_layers: int = -1,
        devices: Sequence[str] | None = None,
        servers: Collection[str] = (),
        experts_in_ram: bool = False,
        load_mtp: bool = False,
        is_head: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.library = library
        self.path = Path(path)
        _check_file(self.path)
        api = library.api
        params = api.llama_model_default_params()
        self.n_gpu_layers = params.n_gpu_layers = n_gpu_layers
        self.has_mtp = params.load_mtp = load_mtp or is_head
        """Whether MTP heads were loaded; without them llama.cpp must not be asked for them."""
        chosen = choose_devices(library, devices, servers)
        if chosen is not None:
            handles = [*(device.handle for device in chosen), None]  # a null ends the list
            listed = (ctypes.c_void_p * len(handles))(*handles)
            params.devices = ctypes.cast(listed, ctypes.c_void_p)
        offered = find_devices(library) if chosen is None else chosen
        self.devices = tuple(device for device in offered if device.kind != "cpu")
        """The devices beside the CPU that layers and large products may go to."""
        self.experts_in_ram = experts_in_ram
        if experts_in_ram:
            overrides = _experts_to_ram(library, self.path)  # needed until the load returns
            params.tensor_buft_overrides = ctypes.cast(overrides, ctypes.c_void_p)
        if progress is not None:
            # The attribute keeps the callback alive for as long as the native side may call it.
            self._progress = api.llama_progress_callback(lambda fraction, _data: progress(fraction))
            params.progress_callback = self._progress
        mark = library.log.mark()
        self.handle: Any = api.llama_model_load_from_file(str(self.path).encode(), params)
        if not self.handle:
            raise _load_error(self.path, library.log.errors(mark))
        self.vocabulary = Vocabulary(library, api.llama_model_get_vocab(self.handle))
        try:
            if not is_head:
                self._require_language_model()
        except UnsupportedModel:
            self.close()
            raise

    @property
    def architecture(self) -> str:
        """`general.architecture`."""
        return self.metadata("general.architecture") or "unknown"

    @property
    def name(self) -> str:
        """`general.name`, or the file's name."""
        return self.metadata("general.name") or self.path.stem

    @property
    def description(self) -> str:
        """llama.cpp's words, such as `llama 135M Q4_1`."""
        buffer = ctypes.create_string_buffer(256)
        self.library.api.llama_model_desc(self.handle, buffer, len(buffer))
        return buffer.value.decode(errors="replace")

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors."""
        return int(self.library.api.llama_model_size(self.handle))

    @property
    def n_parameters(self) -> int:
        """Number of weights."""
        return int(self.library.api.llama_model_n_params(self.handle))

    @property
    def n_embd_out(self) -> int:
        """Width of the hidden states that its decodes leave behind."""
        return int(self.library.api.llama_model_n_embd_out(self.handle))

    @property
    def n_embd(self) -> int:
        """Width of the states that go from layer to layer."""
        return int(self.library.api.llama_model_n_embd(self.handle))

    @property
    def n_layers(self) -> int:
        """Layers without MTP heads."""
        return int(self.library.api.llama_model_n_layer(self.handle))

    @property
    def n_mtp_heads(self) -> int:
        """MTP heads by its metadata, whether or not they were loaded."""
        return int(self.library.api.llama_model_n_layer_nextn(self.handle))

    @property
    def n_ctx_train(self) -> int:
        """Context length the model was trained for, in tokens."""
        return int(self.library.api.llama_model_n_ctx_train(self.handle))

    @property
    def is_recurrent(self) -> bool:
        """Whether any layer keeps a state instead of a KV cache."""
        api = self.library.api
        return bool(
            api.llama_model_is_recurrent(self.handle) or api.llama_model_is_hybrid(self.handle)
        )

    @property
    def has_experts(self) -> bool:
        """Whether it is a mixture of experts."""
        return int(self.metadata(f"{self.architecture}.expert_count") or 0) > 0

    @property
    def offloaded_to(self) -> tuple[str, ...]:
        """Names of the devices beside the CPU that have layers of it."""
        return tuple(device.name for device in self.devices) if self.n_gpu_layers else ()

    @property
    def chat_template(self) -> str | None:
        """The Jinja template in the file."""
        template = self.library.api.llama_model_chat_template(self.handle, None)
        return template.decode(errors="replace") if template else None

    def metadata(self, key: str) -> str | None:
        """A metadata value as text, or None."""
        buffer = ctypes.create_string_buffer(256)
        size = self.library.api.llama_model_meta_val_str(
            self.handle, key.encode(), buffer, len(buffer)
        )
        return buffer.value.decode(errors="replace") if size >= 0 else None

    def kv_bytes(self, n_ctx: int, bytes_per_32: int = 64) -> int:
        """Bytes of a KV cache of this length; layers of full attention everywhere.

        Args:
            bytes_per_32: that 32 numbers take; 64 in F16.
        """
        api, arch = self.library.api, self.architecture
        layers = int(api.llama_model_n_layer(self.handle))
        heads = int(api.llama_model_n_head_kv(self.handle))
        width = int(api.llama_model_n_embd(self.handle)) // max(
            1, int(api.llama_model_n_head(self.handle))
        )
        key = int(self.metadata(f"{arch}.attention.key_length") or width)
        value = int(self.metadata(f"{arch}.attention.value_length") or width)
        return n_ctx * layers * heads * (key + value) * bytes_per_32 // 32

    def close(self) -> None:
        """Free the weights."""
        if self.handle:
            self.library.api.llama_model_free(self.handle)
            self.handle = None

    def _require_language_model(self) -> None:
        api = self.library.api
        if (
            api.llama_model_has_encoder(self.handle)
            or not api.llama_model_has_decoder(self.handle)
            or api.llama_model_is_diffusion(self.handle)
            or self.vocabulary.n_tokens == 0
        ):
            raise UnsupportedModel(
                f"Tried to chat with {self.path.name}.",
                f"Its architecture, {self.architecture}, does not write text token by token.",
                "Choose a chat model; this may be an embedding model or a part of another one.",
            )


def _experts_to_ram(library: Library, path: Path) -> ctypes.Array[_Override]:
    """A list of one rule, with the empty one that ends it.

    Raises:
        InvalidSetting: main memory cannot be named to llama.cpp.
    """
    try:
        main_memory = library.function("ggml_backend_cpu_buffer_type", ctypes.c_void_p)()
    except AttributeError:  # Windows
        raise InvalidSetting(
            f"Tried to keep the experts of {path.name} in main memory.",
            "llama.cpp cannot be told so on this system.",
            "Leave out --experts-in-ram, and put fewer layers on the GPU with --gpu-layers.",
        ) from None
    return (_Override * 2)(_Override(EXPERTS, main_memory), _Override())


def _check_file(path: Path) -> None:
    """Say plainly what llama.cpp would say in three log lines."""
    tried = f"Tried to load '{path}'."
    try:
        if path.is_dir():
            raise ModelNotFound(
                tried, "That is a folder.", "Name the .gguf file itself, as in folder/model.gguf."
            )
        if not path.exists():
            raise ModelNotFound(
                tried, "There is no such file.", "Check the path for a typing error."
            )
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:  # also of a folder on the way that may not be entered
        raise ModelNotFound(
            tried,
            f"It cannot be read: {error.strerror}.",
            "Check the path and the file's permissions.",
        ) from error
    if magic != GGUF_MAGIC:
        happened = (
            "The file is empty." if not magic else "It is not a GGUF file, whatever its name."
        )
        raise NotAModel(tried, happened, "Download a model in GGUF format and name that file.")


def _load_error(path: Path, log: list[str]) -> NotAModel | OutOfMemory | UnsupportedModel:
    """The reason in llama.cpp's error lines, in a person's words."""
    tried = f"Tried to load '{path}'."
    text = "\n".join(log)
    refused = re.search(r"unable to allocate ([^\s\[]+)\S* buffer", text)
    if refused:
        return OutOfMemory(
            tried,
            f"{refused[1]} has no room for its part of the weights.",
            "Put fewer layers there with --gpu-layers, or end other programs that use it.",
        )
    if "unknown model architecture" in text:
        name = text.split("unknown model architecture:")[1].split("'")[1]
        return UnsupportedModel(
            tried,
            f"This version of llama.cpp does not know the architecture {name}.",
            "Choose another model, or wait for a specchat with a newer llama.cpp.",
        )
    damaged = ("not within the file bounds", "failed to read", "invalid magic", "exceeds remaining")
    if any(words in text for words in damaged):
        return NotAModel(
            tried,
            "The file is cut short or damaged.",
            "Download it again; its size should match the publisher's.",
        )
    detail = log[0].split(": ", 1)[-1].rstrip(".") if log else "no reason was logged"
    return UnsupportedModel(
        tried,
        f"llama.cpp refused it: {detail}.",
        "Choose another model, or download this one again.",
    )
