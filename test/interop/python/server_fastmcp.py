"""The common server of the interop suite on `fastmcp`: `server_fastmcp.py ID stdio|http|sse`. Speaks both eras."""

import sys

import anyio
import fastmcp
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListRootsRequest,
    PromptReference,
    SamplingMessage,
    TextContent,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

import wire

ID, CARRIER = sys.argv[1:]
server = FastMCP(f"interop-{ID}", version="1.0.0", instructions=f"The common server, {ID}.")
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
    return ctx.request_context is not None and ctx.request_context.protocol_version in MODERN_PROTOCOL_VERSIONS


@server.tool
def greet(name: str, times: int = 1) -> Greeting:
    """Greets, structured."""
    return Greeting(greeting=f"Hello, {name}!", times=times)


@server.tool
def fail(reason: str) -> Greeting:
    """Fails as a tool does."""
    raise ToolError(reason)


@server.tool
async def count(to: int, ctx: Context) -> Count:
    """Counts, with progress."""
    for at in range(1, to + 1):
        await ctx.report_progress(at, to, f"{at} of {to}")
    return Count(counted=to)


@server.tool
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


@server.tool
def hangs() -> Hangs:
    """How many calls of hang began, and how many were cancelled."""
    return Hangs(**counted)


@server.tool
async def grow(name: str, ctx: Context) -> Answer:
    """Adds a tool of that name."""

    def grown() -> Answer:
        return Answer(answer=name)

    server.tool(grown, name=name, description="Was added while the server ran.")
    await ctx.send_notification(ToolListChangedNotification())
    return Answer(answer=name)


@server.tool
async def chat(text: str, ctx: Context) -> Answer:
    """Sends a log message."""
    await ctx.log(text, level="warning", logger_name=ID)
    return Answer(answer=text)


@server.tool
async def ask_user(ctx: Context) -> Answer | InputRequiredResult:
    """Asks the user for a name."""
    if not modern(ctx):
        asked = await ctx.elicit(wire.QUESTION, Person)
        return Answer(answer=asked.data.name if asked.action == "accept" else asked.action)
    if ctx.input_responses is None:
        form = ElicitRequestFormParams(message=wire.QUESTION, requested_schema=Person.model_json_schema())
        return InputRequiredResult(input_requests={"person": ElicitRequest(params=form)}, request_state="person")
    given = ctx.input_responses["person"]
    return Answer(answer=str((given.content or {}).get("name", given.action)))


SAMPLING = CreateMessageRequestParams(
    messages=[SamplingMessage(role="user", content=TextContent(type="text", text="Say hello."))], max_tokens=10
)


@server.tool
async def ask_model(ctx: Context) -> Answer | InputRequiredResult:
    """Asks the model of the client."""
    if not modern(ctx):
        said = await ctx.session.create_message(
            SAMPLING.messages, max_tokens=10, related_request_id=ctx.request_id
        )
    elif ctx.input_responses is None:
        return InputRequiredResult(input_requests={"model": CreateMessageRequest(params=SAMPLING)})
    else:
        said = ctx.input_responses["model"]
    return Answer(answer=said.content.text)


@server.tool
async def ask_roots(ctx: Context) -> Answer | InputRequiredResult:
    """Asks for the roots of the client."""
    if not modern(ctx):
        known = await ctx.session.list_roots()
    elif ctx.input_responses is None:
        return InputRequiredResult(input_requests={"roots": ListRootsRequest()})
    else:
        known = ctx.input_responses["roots"]
    return Answer(answer=" ".join(str(root.uri) for root in known.roots))


@server.prompt
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


@server.completion
async def complete(ref, argument, context) -> list[str]:
    kind = "prompt" if isinstance(ref, PromptReference) else "template"
    return [f"{name} ({kind})" for name in wire.narrowed(argument.value)]


fastmcp.settings.check_for_updates = "off"
if CARRIER == "stdio":
    server.run("stdio", show_banner=False)
elif CARRIER == "http":
    wire.serve_http(server.http_app(path="/mcp"))
else:
    wire.serve_http(server.http_app(path="/sse", transport="sse"))
