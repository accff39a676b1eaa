"""
A client on `fastmcp`, told what to do by JSON lines: `client_fastmcp.py http|sse|stdio TARGET legacy|auto`, where TARGET
is a URL, or a command as a JSON list.
"""

import asyncio
import json
import sys
import warnings
from typing import Any

import fastmcp
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from mcp import MCPError
from mcp.client.subscriptions import listen as open_listen
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import Implementation, PromptReference, ResourceTemplateReference
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

import wire

CARRIER, TARGET, MODE = sys.argv[1:]
warnings.simplefilter("ignore", MCPDeprecationWarning)


def plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def elicited(message: str, response_type: Any, params: Any, context: Any) -> Any:
    wire.say(method="elicitation/create", params=plain(params))
    return {"name": "Ada"}


async def sampled(messages: Any, params: Any, context: Any) -> str:
    wire.say(method="sampling/createMessage", params=plain(params))
    return "Hello from the model"


async def rooted(context: Any) -> list[str]:
    wire.say(method="roots/list", params={})
    return [wire.ROOT]


async def noticed(message: Any) -> None:
    if not isinstance(message, Exception):
        wire.say(**plain(message))


async def as_plain(coming: Any) -> Any:
    return plain(await coming)


def transport() -> Any:
    if CARRIER == "http":
        return StreamableHttpTransport(TARGET)
    if CARRIER == "sse":
        return SSETransport(TARGET)
    command, *args = json.loads(TARGET)
    return StdioTransport(command, args)


async def main() -> None:
    fastmcp.settings.check_for_updates = "off"
    async with Client(
        transport(),
        mode=MODE,
        client_info=Implementation(name="interop-fastmcp", version="1.0.0"),
        elicitation_handler=elicited,
        sampling_handler=sampled,
        roots=rooted,
        message_handler=noticed,
    ) as client:
        listening: list[asyncio.Task[None]] = []

        async def listed(kind: str, coming: Any) -> Any:
            return {kind: [plain(item) for item in await coming]}

        async def call_tool(call: int, name: str, arguments: dict[str, Any]) -> Any:
            async def progressed(progress: float, total: float | None, message: str | None) -> None:
                params = {"progress": progress, "total": total, "message": message}
                wire.say(method="notifications/progress", call=call, params=params)

            return plain(await client.call_tool_mcp(name, arguments, progress_handler=progressed))

        async def complete(call: int, ref: dict[str, str], name: str, value: str) -> Any:
            target = (
                PromptReference(name=ref["name"]) if "name" in ref else ResourceTemplateReference(uri=ref["uri"])
            )
            return plain(await client.complete_mcp(target, {"name": name, "value": value}))

        async def listen(call: int, uris: list[str]) -> Any:
            if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                for uri in uris:
                    await client.session.subscribe_resource(uri)
                return {}
            opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

            async def hear() -> None:
                try:
                    # It has no listen of its own; its session is one of the SDK below it.
                    async with open_listen(
                        client.session, tools_list_changed=True, resource_subscriptions=uris
                    ) as subscription:
                        opened.set_result(plain(subscription.honored))
                        async for _ in subscription:
                            pass  # the message handler tells of it
                except Exception as error:
                    if opened.done():
                        wire.say(method="lost", params={"message": repr(error)})
                    else:
                        opened.set_exception(error)

            listening.append(asyncio.create_task(hear()))
            return {"honored": await opened}

        async def level(call: int) -> Any:
            await client.set_logging_level("info")
            return {}

        wire.say(
            version=client.protocol_version,
            server=plain(client.server_info) if client.server_info else None,
            capabilities=plain(client.server_capabilities) if client.server_capabilities else {},
            instructions=client.instructions,
        )
        await wire.obey(
            {
                "tools": lambda call: listed("tools", client.list_tools()),
                "prompts": lambda call: listed("prompts", client.list_prompts()),
                "resources": lambda call: listed("resources", client.list_resources()),
                "templates": lambda call: listed("resourceTemplates", client.list_resource_templates()),
                "call": call_tool,
                "read": lambda call, uri: as_plain(client.read_resource_mcp(uri)),
                "prompt": lambda call, name, arguments: as_plain(client.get_prompt_mcp(name, arguments)),
                "complete": complete,
                "listen": listen,
                "level": level,
            },
            lambda error: {"code": error.code} if isinstance(error, MCPError) else {},
        )
        for task in listening:
            task.cancel()


asyncio.run(main())
