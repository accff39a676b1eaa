"""
A client on the `mcp` SDK 1.x, told what to do by JSON lines: `client_mcp1.py http|sse|stdio TARGET legacy`, where TARGET
is a URL, or a command as a JSON list.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    CancelledNotification,
    CancelledNotificationParams,
    ClientNotification,
    CreateMessageResult,
    ElicitResult,
    Implementation,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    Root,
    ServerNotification,
    TextContent,
)

import wire

CARRIER, TARGET, _ = sys.argv[1:]


def plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def elicited(context: Any, params: Any) -> ElicitResult:
    wire.say(method="elicitation/create", params=plain(params))
    return ElicitResult(action="accept", content={"name": "Ada"})


async def sampled(context: Any, params: Any) -> CreateMessageResult:
    wire.say(method="sampling/createMessage", params=plain(params))
    content = TextContent(type="text", text="Hello from the model")
    return CreateMessageResult(role="assistant", content=content, model="m", stopReason="endTurn")


async def rooted(context: Any) -> ListRootsResult:
    wire.say(method="roots/list", params={})
    return ListRootsResult(roots=[Root(uri=wire.ROOT, name="interop")])


async def noticed(message: Any) -> None:
    if isinstance(message, ServerNotification):
        wire.say(**plain(message))


async def all_pages(list_page: Any, member: str) -> dict[str, Any]:
    items: list[Any] = []
    cursor = None
    while True:
        page = await list_page(cursor)
        items += plain(page)[member]
        cursor = page.nextCursor
        if cursor is None:
            return {member: items}


async def as_plain(coming: Any) -> Any:
    return plain(await coming)


def transport() -> Any:
    if CARRIER == "http":
        return streamable_http_client(TARGET)
    if CARRIER == "sse":
        return sse_client(TARGET)
    command, *args = json.loads(TARGET)
    return stdio_client(StdioServerParameters(command=command, args=args))


async def main() -> None:
    async with AsyncExitStack() as stack:
        read, write, *_ = await stack.enter_async_context(transport())
        session = await stack.enter_async_context(
            ClientSession(
                read,
                write,
                elicitation_callback=elicited,
                sampling_callback=sampled,
                list_roots_callback=rooted,
                message_handler=noticed,
                client_info=Implementation(name="interop-mcp1", version="1.0.0"),
            )
        )
        hello = await session.initialize()
        sent: dict[int, int] = {}

        async def call_tool(call: int, name: str, arguments: dict[str, Any]) -> Any:
            async def progressed(progress: float, total: float | None, message: str | None) -> None:
                params = {"progress": progress, "total": total, "message": message}
                wire.say(method="notifications/progress", call=call, params=params)

            # The id the session is about to give; it has no other way to name a call in a cancellation.
            sent[call] = session._request_id
            return plain(await session.call_tool(name, arguments, progress_callback=progressed))

        async def cancel(call: int) -> Any:
            params = CancelledNotificationParams(requestId=sent[call], reason="no longer wanted")
            await session.send_notification(ClientNotification(CancelledNotification(params=params)))

        async def complete(call: int, ref: dict[str, str], name: str, value: str) -> Any:
            target = (
                PromptReference(type="ref/prompt", name=ref["name"])
                if "name" in ref
                else ResourceTemplateReference(type="ref/resource", uri=ref["uri"])
            )
            return plain(await session.complete(target, {"name": name, "value": value}))

        async def listen(call: int, uris: list[str]) -> Any:
            for uri in uris:
                await session.subscribe_resource(uri)
            return {}

        wire.say(
            version=hello.protocolVersion,
            server=plain(hello.serverInfo),
            capabilities=plain(hello.capabilities),
            instructions=hello.instructions,
        )
        await wire.obey(
            {
                "tools": lambda call: all_pages(session.list_tools, "tools"),
                "prompts": lambda call: all_pages(session.list_prompts, "prompts"),
                "resources": lambda call: all_pages(session.list_resources, "resources"),
                "templates": lambda call: all_pages(session.list_resource_templates, "resourceTemplates"),
                "call": call_tool,
                "cancel": cancel,
                "read": lambda call, uri: as_plain(session.read_resource(uri)),
                "prompt": lambda call, name, arguments: as_plain(session.get_prompt(name, arguments)),
                "complete": complete,
                "listen": listen,
                "level": lambda call: as_plain(session.set_logging_level("info")),
            },
            lambda error: {"code": error.error.code} if isinstance(error, McpError) else {},
        )


asyncio.run(main())
