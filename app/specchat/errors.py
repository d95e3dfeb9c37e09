"""Everything that can go wrong for a person, said as: tried, happened, do next."""

from typing import ClassVar


class SpecchatError(Exception):
    """A refusal that a person reads.

    Args:
        tried: what specchat was asked to do, as a sentence.
        happened: what stood in the way, as a sentence.
        next_step: what the person can do about it, as a sentence.
    """

    kind: ClassVar[str] = "internal"
    """Stable key of the help card, also sent over the wire."""
    title: ClassVar[str] = "Something went wrong"
    exit_code: ClassVar[int] = 2

    def __init__(self, tried: str, happened: str, next_step: str) -> None:
        super().__init__(" ".join(filter(None, (tried, happened, next_step))))
        self.tried = tried
        self.happened = happened
        self.next_step = next_step

    @property
    def message(self) -> str:
        """What was tried and what happened."""
        return " ".join(filter(None, (self.tried, self.happened)))


class InvalidSetting(SpecchatError):
    """A number or a combination of settings that makes no sense."""

    kind = "invalid_setting"
    title = "That setting does not work"


class NoModel(SpecchatError):
    """No model was named and none was found."""

    kind = "no_model"
    title = "No model yet"


class ModelNotFound(SpecchatError):
    """The path is missing, a directory or not readable."""

    kind = "model_not_found"
    title = "Model file not found"


class NotAModel(SpecchatError):
    """The file is no GGUF, or is cut short or damaged."""

    kind = "not_a_model"
    title = "Not a usable GGUF file"


class UnsupportedModel(SpecchatError):
    """A sound GGUF that this build of llama.cpp cannot run."""

    kind = "unsupported_model"
    title = "Unsupported model"


class DraftMismatch(SpecchatError):
    """The draft does not speak the target's vocabulary."""

    kind = "draft_mismatch"
    title = "This draft does not match"


class ContextTooLarge(SpecchatError):
    """The context does not fit into memory."""

    kind = "context_too_large"
    title = "The context does not fit"


class OutOfMemory(SpecchatError):
    """A device has no room for what was to go there."""

    kind = "out_of_memory"
    title = "It does not fit into memory"


class PromptTooLong(SpecchatError):
    """The conversation is longer than the context."""

    kind = "prompt_too_long"
    title = "The conversation is too long"


class TemplateProblem(SpecchatError):
    """The model's chat template cannot render this conversation."""

    kind = "template_problem"
    title = "The chat template failed"


class LibraryProblem(SpecchatError):
    """llama-cpp-python is missing or is not the version that specchat knows."""

    kind = "library_problem"
    title = "llama.cpp cannot be used"
    exit_code = 1


class RpcServerProblem(SpecchatError):
    """An RPC server of llama.cpp cannot be reached or is of no use."""

    kind = "rpc_server_problem"
    title = "That RPC server cannot be used"


class DecodeFailed(SpecchatError):
    """llama.cpp refused or failed a decode call."""

    kind = "decode_failed"
    title = "llama.cpp failed"
    exit_code = 1


class EngineCrashed(SpecchatError):
    """The engine's process ended without being asked to."""

    kind = "engine_crashed"
    title = "The engine stopped"
    exit_code = 1


class NotOnHub(SpecchatError):
    """The Hub has no such repository or file, or several that fit."""

    kind = "not_on_hub"
    title = "Not found on the Hub"


class AccessNeeded(SpecchatError):
    """The Hub gives this model only to people whom its owner or a token lets in."""

    kind = "access_needed"
    title = "The Hub asks who you are"
    exit_code = 1


class HubUnreachable(SpecchatError):
    """No answer from the Hub: no network, a proxy in the way, or offline by choice."""

    kind = "hub_unreachable"
    title = "The Hub cannot be reached"
    exit_code = 1


class HubRefused(SpecchatError):
    """The Hub answered with an error of its own, or asked for more patience than we have."""

    kind = "hub_refused"
    title = "The Hub refused"
    exit_code = 1


class DamagedDownload(SpecchatError):
    """What came is not the file that the Hub has."""

    kind = "damaged_download"
    title = "The download is damaged"
    exit_code = 1


class DiskFull(SpecchatError):
    """The file does not fit on the disk."""

    kind = "disk_full"
    title = "Not enough room on the disk"
    exit_code = 1


class CannotWrite(SpecchatError):
    """A folder in which a file has to be made may not be written to."""

    kind = "cannot_write"
    title = "That folder cannot be written to"
    exit_code = 1


class NotOurs(SpecchatError):
    """Specchat deletes only what it downloaded itself."""

    kind = "not_ours"
    title = "Not downloaded by specchat"
