"""The adapter of FastMCP, versions 3 (with version 1 of the official SDK) and 4 (with version 2)."""

import contextlib

import fastmcp
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

from script import Adapter, plain, run

if fastmcp.__version__.startswith("3."):
    from mcp import types
else:
    import mcp_types as types

    import python2


class FastMCP(Adapter):
    def handlers(self, bare):
        async def elicit(message, response_type, params, context):
            return self.answer("elicitation/create", ElicitResult, types.ErrorData)

        async def sample(messages, params, context):
            answer = self.answer("sampling/createMessage", types.CreateMessageResult, types.ErrorData)
            if isinstance(answer, types.ErrorData):
                raise RuntimeError(answer.message)
            return answer

        async def list_roots(context):
            return self.answer("roots/list", types.ListRootsResult, types.ErrorData).roots

        async def log(params):
            self.messages.add(params)

        async def message(message):
            message = getattr(message, "root", message)
            if hasattr(message, "method"):
                self.changed(message)

        questions = {"elicitation_handler": elicit, "sampling_handler": sample, "roots": list_roots}
        return {"log_handler": log, "message_handler": message, **({} if bare else questions)}

    def is_modern(self):
        return getattr(self.client, "protocol_version", "") == "2026-07-28"

    async def server(self):
        if hasattr(self.client, "server_info"):
            return {"name": self.client.server_info.name, "version": self.client.protocol_version}
        initialized = self.client.initialize_result
        return {"name": initialized.serverInfo.name, "version": initialized.protocolVersion}

    async def tools(self):
        return await self.client.list_tools()

    async def call(self, name, arguments, progress=None, level=None):
        meta = None
        if level and self.is_modern():
            meta = {"io.modelcontextprotocol/logLevel": level}
        elif level:
            await self.client.set_logging_level(level)
        result = await self.client.call_tool(name, arguments, progress_handler=progress, raise_on_error=False, meta=meta)
        got = {"content": [plain(c) for c in result.content]}
        if result.structured_content is not None:
            got["structuredContent"] = result.structured_content
        if result.is_error:
            got["isError"] = True
        return got

    def next_request_id(self):
        return getattr(self.client.session, "_request_id", None)

    async def cancel(self, request_id):
        if request_id is not None:  # version 4 cancels the request when the call's task is cancelled
            await self.client.cancel(request_id)

    async def resources(self):
        return await self.client.list_resources()

    async def templates(self):
        return [plain(t)["uriTemplate"] for t in await self.client.list_resource_templates()]

    async def read(self, uri):
        contents = await self.client.read_resource(uri)
        return [plain(c) for c in getattr(contents, "contents", contents)]

    @contextlib.asynccontextmanager
    async def watch(self, uri):  # which FastMCP leaves to the session of the official SDK
        session = self.client.session
        if self.is_modern():
            from mcp.client.subscriptions import listen
            async with listen(session, resource_subscriptions=[uri], resources_list_changed=True, prompts_list_changed=True):
                yield
            return
        await session.subscribe_resource(uri)
        yield
        await session.unsubscribe_resource(uri)

    async def prompts(self):
        return await self.client.list_prompts()

    async def prompt(self, name, arguments):
        return [plain(m) for m in (await self.client.get_prompt(name, arguments)).messages]

    async def complete(self, ref, argument, context):
        kind = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return (await self.client.complete(kind.model_validate(ref), argument, context)).values


@contextlib.asynccontextmanager
async def connect(server):
    if "url" in server:
        transport = StreamableHttpTransport(server["url"], headers=server.get("headers"))
    else:
        transport = StdioTransport(server["command"], server["args"], env=server["env"], cwd=server["cwd"], keep_alive=False)
    options = {}
    if fastmcp.__version__.startswith("3."):
        types.LATEST_PROTOCOL_VERSION = server["version"]  # the library requests no other
    else:
        options["mode"] = python2.mode(server["version"])
    adapter = FastMCP()
    async with Client(transport, **adapter.handlers(server["bare"]), **options) as client:
        adapter.client = client
        yield adapter


if __name__ == "__main__":
    run(connect)
