"""The adapter of the official Python SDK, version 1."""

import contextlib

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl

from script import Adapter, plain, run, tool_result


class Python1(Adapter):
    def callbacks(self, bare):
        async def elicit(context, params):
            return self.answer("elicitation/create", types.ElicitResult, types.ErrorData)

        async def sample(context, params):
            return self.answer("sampling/createMessage", types.CreateMessageResult, types.ErrorData)

        async def list_roots(context):
            return self.answer("roots/list", types.ListRootsResult, types.ErrorData)

        async def log(params):
            self.messages.add(params)

        async def message(message):
            if isinstance(message, types.ServerNotification):
                self.changed(message.root)

        questions = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": list_roots}
        return {"logging_callback": log, "message_handler": message, **({} if bare else questions)}

    async def server(self):
        return {"name": self.initialized.serverInfo.name, "version": self.initialized.protocolVersion}

    async def tools(self):
        return (await self.session.list_tools()).tools

    async def call(self, name, arguments, progress=None, level=None):
        if level:
            await self.session.set_logging_level(level)
        return tool_result(await self.session.call_tool(name, arguments, progress_callback=progress))

    def next_request_id(self):
        return self.session._request_id

    async def cancel(self, request_id):  # which the library does not do if the call's task is cancelled
        params = types.CancelledNotificationParams(requestId=request_id)
        await self.session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))

    async def resources(self):
        return (await self.session.list_resources()).resources

    async def templates(self):
        return [t.uriTemplate for t in (await self.session.list_resource_templates()).resourceTemplates]

    async def read(self, uri):
        return [plain(c) for c in (await self.session.read_resource(AnyUrl(uri))).contents]

    @contextlib.asynccontextmanager
    async def watch(self, uri):
        await self.session.subscribe_resource(AnyUrl(uri))
        yield
        await self.session.unsubscribe_resource(AnyUrl(uri))

    async def prompts(self):
        return (await self.session.list_prompts()).prompts

    async def prompt(self, name, arguments):
        return [plain(m) for m in (await self.session.get_prompt(name, arguments)).messages]

    async def complete(self, ref, argument, context):
        kind = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return (await self.session.complete(kind.model_validate(ref), argument, context)).completion.values


@contextlib.asynccontextmanager
async def connect(server):
    types.LATEST_PROTOCOL_VERSION = server["version"]  # the library requests no other
    if "url" in server:
        transport = streamablehttp_client(server["url"], headers=server.get("headers"))
    else:
        transport = stdio_client(StdioServerParameters(**{k: server[k] for k in ("command", "args", "env", "cwd")}))
    adapter = Python1()
    async with transport as streams, ClientSession(streams[0], streams[1], **adapter.callbacks(server["bare"])) as session:
        adapter.session = session
        adapter.initialized = await session.initialize()
        yield adapter


if __name__ == "__main__":
    run(connect)
