"""What can go wrong with a measurement, said as: tried, happened, do next."""

from specchat.engine.protocol import Failed
from specchat.errors import SpecchatError


class BusyMachine(SpecchatError):
    """Other work took part in the measurement, so it is not recorded."""

    kind = "busy_machine"
    title = "The machine was busy"
    exit_code = 3


class ServerProblem(SpecchatError):
    """The llama-server to compare with does not start or does not answer."""

    kind = "server_problem"
    title = "llama-server cannot be measured"
    exit_code = 1


class PairNotBuilt(SpecchatError):
    """The pair to measure could not be made."""

    kind = "pair_not_built"
    title = "The pair could not be built"


class EngineFailed(Exception):
    """The engine could not load or answer; the event says why."""

    def __init__(self, event: Failed) -> None:
        super().__init__(event.message)
        self.event = event
