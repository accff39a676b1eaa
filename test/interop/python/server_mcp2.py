"""The common server of the interop suite on the `mcp` SDK 2.x: `server_mcp2.py ID stdio|http|sse`. Speaks both eras."""

import sys
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    Completion,
    CreateMessageResult,
    ListRootsResult,
    PromptReference,
    SamplingMessage,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

import wire

ID, CARRIER = sys.argv[1:]
server = MCPServer(f"interop-{ID}", version="1.0.0", instructions=f"The common server, {ID}.")
counted = {"begun": 0, "cancelled": 0}


class Greeting(BaseModel):
    greeting: str
    times: int


class Count(BaseModel):
    counted: int


class Hangs(BaseModel):
    begun: int
    cancelled: int


class Answer(BaseModel):
    answer: str


class Person(BaseModel):
    name: str


def modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


@server.tool()
def greet(name: str, times: int = 1) -> Greeting:
    """Greets, structured."""
    return Greeting(greeting=f"Hello, {name}!", times=times)


@server.tool()
def fail(reason: str) -> Greeting:
    """Fails as a tool does."""
    raise ToolError(reason)


@server.tool()
async def count(to: int, ctx: Context) -> Count:
    """Counts, with progress."""
    for at in range(1, to + 1):
        await ctx.report_progress(at, to, f"{at} of {to}")
    return Count(counted=to)


@server.tool()
async def hang(ctx: Context) -> Count:
    """Goes on until it is cancelled."""
    counted["begun"] += 1
    try:
        await ctx.report_progress(0, 1, "hanging")
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        counted["cancelled"] += 1
        raise
    return Count(counted=0)


@server.tool()
def hangs() -> Hangs:
    """How many calls of hang began, and how many were cancelled."""
    return Hangs(**counted)


@server.tool()
async def grow(name: str, ctx: Context) -> Answer:
    """Adds a tool of that name."""

    def grown() -> Answer:
        return Answer(answer=name)

    server.add_tool(grown, name=name, description="Was added while the server ran.")
    if modern(ctx):
        await ctx.notify_tools_changed()
    else:
        await ctx.session.send_tool_list_changed()
    return Answer(answer=name)


@server.tool()
async def touch(ctx: Context) -> Answer:
    """Says that the note has changed."""
    await ctx.notify_resource_updated(f"note://{ID}/static")
    return Answer(answer="touched")


@server.tool()
async def chat(text: str, ctx: Context) -> Answer:
    """Sends a log message."""
    await ctx.log("warning", text, logger_name=ID)
    return Answer(answer=text)


async def asked_person() -> Elicit[Person]:
    return Elicit(wire.QUESTION, Person)


async def asked_model() -> Sample:
    content = TextContent(type="text", text="Say hello.")
    return Sample([SamplingMessage(role="user", content=content)], max_tokens=10)


async def asked_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def ask_user(person: Annotated[Person, Resolve(asked_person)]) -> Answer:
    """Asks the user for a name."""
    return Answer(answer=person.name)


@server.tool()
async def ask_model(said: Annotated[CreateMessageResult, Resolve(asked_model)]) -> Answer:
    """Asks the model of the client."""
    return Answer(answer=said.content.text if isinstance(said.content, TextContent) else "")


@server.tool()
async def ask_roots(known: Annotated[ListRootsResult, Resolve(asked_roots)]) -> Answer:
    """Asks for the roots of the client."""
    return Answer(answer=" ".join(str(root.uri) for root in known.roots))


@server.prompt()
def welcome(name: str) -> str:
    """Welcomes somebody."""
    return f"Welcome, {name}!"


@server.resource(f"note://{ID}/static", name="static", mime_type="text/plain")
def static() -> str:
    return wire.NOTE


@server.resource(f"note://{ID}/dot", name="dot", mime_type="application/octet-stream")
def dot() -> bytes:
    return wire.DOT


@server.resource(f"note://{ID}/by/{{name}}", name="by", mime_type="text/plain")
def by(name: str) -> str:
    return f"Signed: {name}"


@server.completion()
async def complete(ref, argument, context) -> Completion:
    kind = "prompt" if isinstance(ref, PromptReference) else "template"
    return Completion(values=[f"{name} ({kind})" for name in wire.narrowed(argument.value)])


if CARRIER == "stdio":
    server.run("stdio")
elif CARRIER == "http":
    wire.serve_http(server.streamable_http_app())
else:
    wire.serve_http(server.sse_app())
