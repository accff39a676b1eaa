"""The common server of the interop suite on the `mcp` SDK 1.x: `server_mcp1.py ID stdio|http|sse`. Speaks the old era."""

import sys

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import Completion, PromptReference, SamplingMessage, TextContent
from pydantic import BaseModel

import wire

ID, CARRIER = sys.argv[1:]
server = FastMCP(f"interop-{ID}", instructions=f"The common server, {ID}.", log_level="ERROR")
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


@server.tool()
def greet(name: str, times: int = 1) -> Greeting:
    """Greets, structured."""
    return Greeting(greeting=f"Hello, {name}!", times=times)


@server.tool()
def fail(reason: str) -> Greeting:
    """Fails as a tool does."""
    raise ValueError(reason)


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
    await ctx.session.send_tool_list_changed()
    return Answer(answer=name)


@server.tool()
async def chat(text: str, ctx: Context) -> Answer:
    """Sends a log message."""
    await ctx.log("warning", text, logger_name=ID)
    return Answer(answer=text)


@server.tool()
async def ask_user(ctx: Context) -> Answer:
    """Asks the user for a name."""
    asked = await ctx.elicit(wire.QUESTION, Person)
    return Answer(answer=asked.data.name if asked.action == "accept" else asked.action)


@server.tool()
async def ask_model(ctx: Context) -> Answer:
    """Asks the model of the client."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text="Say hello."))
    said = await ctx.session.create_message([message], max_tokens=10, related_request_id=ctx.request_id)
    return Answer(answer=said.content.text if isinstance(said.content, TextContent) else "")


@server.tool()
async def ask_roots(ctx: Context) -> Answer:
    """Asks for the roots of the client."""
    known = await ctx.session.list_roots()
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
