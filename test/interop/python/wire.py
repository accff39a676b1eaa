"""What the Python peers share and no SDK has a part in: JSON lines, listening on a free port, the values they agree on."""

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

NAMES = ["Ada", "Adèle", "Grace"]
"""What a completion of a name offers, narrowed to what was typed."""

NOTE = "Grüße, 世界 🌍"
"""Text of the static resource."""

DOT = bytes([0, 1, 254, 255])
"""Bytes of the binary resource."""

QUESTION = "What is your name?"

ROOT = "file:///srv/interop"


def narrowed(typed: str) -> list[str]:
    return [name for name in NAMES if name.startswith(typed)]


def say(**line: Any) -> None:
    """One JSON line on stdout, as one write: lines of several tasks never mix."""
    sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def end_with_stdin() -> None:
    """Ends the process when its parent closes stdin or is gone."""

    def watch() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def serve_http(app: Any) -> None:
    """Serves an ASGI application on a free loopback port, which is said on stdout."""
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    end_with_stdin()
    say(port=listening.getsockname()[1])
    config = uvicorn.Config(app, log_level="error", ws="none")
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


async def commands() -> AsyncIterator[dict[str, Any]]:
    """The JSON lines that come on stdin."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield json.loads(line)


Operation = Callable[..., Awaitable[dict[str, Any]]]


async def obey(operations: dict[str, Operation], error_of: Callable[[Exception], dict[str, Any]]) -> None:
    """
    Carries out commands `{id, op, …arguments}` side by side until stdin ends, and answers each with `{id, result}` or
    `{id, error}`. `{op: "cancel", id}` ends the command of that id the way this SDK cancels a call.
    """
    running: dict[int, asyncio.Task[None]] = {}

    async def carry_out(id: int, op: str, arguments: dict[str, Any]) -> None:
        try:
            say(id=id, result=await operations[op](call=id, **arguments))
        except asyncio.CancelledError:
            say(id=id, error={"message": "cancelled"})
            raise
        except Exception as error:  # whatever an SDK throws is an answer to the test
            say(id=id, error={"kind": type(error).__name__, "message": str(error), **error_of(error)})
        finally:
            del running[id]

    async for command in commands():
        id, op = command.pop("id"), command.pop("op")
        if op != "cancel":
            running[id] = asyncio.create_task(carry_out(id, op, command))
        elif "cancel" in operations:
            await operations["cancel"](call=id)
        elif id in running:
            running[id].cancel()
    for task in list(running.values()):
        task.cancel()
    await asyncio.gather(*running.values(), return_exceptions=True)
