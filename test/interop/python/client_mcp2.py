"""
A client on the `mcp` SDK 2.x, told what to do by JSON lines: `client_mcp2.py http|sse|stdio TARGET legacy|auto`, where
TARGET is a URL, or a command as a JSON list.
"""

import asyncio
import json
import sys
import warnings
from typing import Any

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.subscriptions import ListenNotSupportedError
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    Implementation,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    Root,
    TextContent,
)

import wire

CARRIER, TARGET, MODE = sys.argv[1:]
warnings.simplefilter("ignore", MCPDeprecationWarning)


def plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def elicited(context: Any, params: Any) -> ElicitResult:
    wire.say(method="elicitation/create", params=plain(params))
    return ElicitResult(action="accept", content={"name": "Ada"})


async def sampled(context: Any, params: Any) -> CreateMessageResult:
    wire.say(method="sampling/createMessage", params=plain(params))
    content = TextContent(type="text", text="Hello from the model")
    return CreateMessageResult(role="assistant", content=content, model="m", stop_reason="endTurn")


async def rooted(context: Any) -> ListRootsResult:
    wire.say(method="roots/list", params={})
    return ListRootsResult(roots=[Root(uri=wire.ROOT, name="interop")])


async def noticed(message: Any) -> None:
    if not isinstance(message, Exception):
        wire.say(**plain(message))


async def all_pages(list_page: Any, member: str) -> dict[str, Any]:
    items: list[Any] = []
    cursor = None
    while True:
        page = await list_page(cursor=cursor, cache_mode="refresh")
        items += plain(page)[member]
        cursor = page.next_cursor
        if cursor is None:
            return {member: items}


def target() -> Any:
    if CARRIER == "http":
        return TARGET
    if CARRIER == "sse":
        return sse_client(TARGET)
    command, *args = json.loads(TARGET)
    return StdioServerParameters(command=command, args=args)


async def main() -> None:
    async with Client(
        target(),
        mode=MODE,
        client_info=Implementation(name="interop-mcp2", version="1.0.0"),
        elicitation_callback=elicited,
        sampling_callback=sampled,
        list_roots_callback=rooted,
        message_handler=noticed,
        log_level="info",
    ) as client:
        listening: list[asyncio.Task[None]] = []

        async def call_tool(call: int, name: str, arguments: dict[str, Any]) -> Any:
            async def progressed(progress: float, total: float | None, message: str | None) -> None:
                params = {"progress": progress, "total": total, "message": message}
                wire.say(method="notifications/progress", call=call, params=params)

            return plain(await client.call_tool(name, arguments, progress_callback=progressed))

        async def complete(call: int, ref: dict[str, str], name: str, value: str) -> Any:
            target = (
                PromptReference(name=ref["name"]) if "name" in ref else ResourceTemplateReference(uri=ref["uri"])
            )
            return plain(await client.complete(target, {"name": name, "value": value}))

        async def listen(call: int, uris: list[str]) -> Any:
            opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

            async def hear() -> None:
                try:
                    async with client.listen(
                        tools_list_changed=True, resource_subscriptions=uris
                    ) as subscription:
                        opened.set_result(plain(subscription.honored))
                        async for _ in subscription:
                            pass  # the message handler tells of it
                except Exception as error:
                    if opened.done():
                        wire.say(method="lost", params={"message": repr(error)})
                    else:
                        opened.set_exception(error)

            try:
                listening.append(asyncio.create_task(hear()))
                return {"honored": await opened}
            except ListenNotSupportedError:
                for uri in uris:
                    await client.subscribe_resource(uri)
                return {}

        async def level(call: int) -> Any:
            return plain(await client.set_logging_level("info"))

        wire.say(
            version=client.protocol_version,
            server=plain(client.server_info) if client.server_info else None,
            capabilities=plain(client.server_capabilities),
            instructions=client.instructions,
        )
        await wire.obey(
            {
                "tools": lambda call: all_pages(client.list_tools, "tools"),
                "prompts": lambda call: all_pages(client.list_prompts, "prompts"),
                "resources": lambda call: all_pages(client.list_resources, "resources"),
                "templates": lambda call: all_pages(client.list_resource_templates, "resourceTemplates"),
                "call": call_tool,
                "read": lambda call, uri: as_plain(client.read_resource(uri, cache_mode="bypass")),
                "prompt": lambda call, name, arguments: as_plain(client.get_prompt(name, arguments)),
                "complete": complete,
                "listen": listen,
                "level": level,
            },
            lambda error: {"code": error.code} if isinstance(error, MCPError) else {},
        )
        for task in listening:
            task.cancel()


async def as_plain(coming: Any) -> Any:
    return plain(await coming)


asyncio.run(main())
