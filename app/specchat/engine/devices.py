"""The parent's side of `Devices`: asks a child that loads nothing and is gone afterwards.

Looking for GPUs opens a context of their driver in the process that looks; here that is not the
one with the terminal.
"""

import asyncio
import functools

from specchat.engine.client import EngineClient
from specchat.engine.protocol import Devices, DevicesFound, Failed
from specchat.errors import EngineCrashed

LIMIT_S = 30.0
"""How long a driver may take to wake up. Where all is well the answer takes half a second."""


async def find_devices(rpc: tuple[str, ...] = ()) -> DevicesFound:
    """This machine now, with the devices of these RPC servers.

    Raises:
        LibraryProblem: llama.cpp cannot be used.
        RpcServerProblem: a server cannot be reached or is of no use.
        EngineCrashed: the child ended, or said nothing in time.
    """
    tried = "Tried to look for devices."
    client = await EngineClient.start()
    try:
        await client.send(Devices(rpc))
        async with asyncio.timeout(LIMIT_S):
            async for event in client.events():
                if isinstance(event, DevicesFound):
                    return event
                if isinstance(event, Failed):
                    raise event.as_error()
        raise EngineCrashed(tried, "The engine left without a word.", "Try again.")
    except TimeoutError:
        raise EngineCrashed(
            tried,
            f"The engine did not answer within {LIMIT_S:.0f} seconds.",
            "A driver may hang: see whether other programs can use the GPU, or restart.",
        ) from None
    finally:
        await client.close()


@functools.cache
def known_devices(rpc: tuple[str, ...] = ()) -> DevicesFound:
    """The same for code that does not wait in a loop; asked once a run.

    Free memory is what was free then; right before a load ask `find_devices` again.
    """
    return asyncio.run(find_devices(rpc))
