"""The adapter of the official Python SDK, version 2."""

import asyncio
import contextlib
from typing import Any, Literal

import httpx2
import mcp.client.session
import mcp_types as types
import pydantic
from mcp import Client, StdioServerParameters
from mcp.client.extension import ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client

from script import Adapter, plain, run, tool_result

MODERN = "2026-07-28"


class TaskRequest(types.Request[dict[str, Any], str]):
    name_param = "taskId"


class CreatedTask(types.Result):
    result_type: Literal["task"] = pydantic.Field(alias="resultType")
    task_id: str = pydantic.Field(alias="taskId")


class TaskState(types.Result):
    status: str | None = None  # of tasks/get only
    input_requests: dict[str, Any] | None = pydantic.Field(alias="inputRequests", default=None)
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class Tasks(ClientExtension):
    """Tasks, for which the library has the interface of extensions: it gets their results, and asks for their states."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, adapter):
        self.adapter = adapter

    def claims(self):
        return [ResultClaim(result_type="task", model=CreatedTask, resolve=self.resolve)]

    async def resolve(self, created, context):
        async def request(method, **params):
            return await context.session.send_request(TaskRequest(method=method, params={"taskId": created.task_id, **params}), TaskState)

        if self.adapter.cancelled:
            await request("tasks/cancel")
        while (state := await request("tasks/get")).status in ("working", "input_required"):
            if state.input_requests:
                self.adapter.asked += [question["method"] for question in state.input_requests.values()]
                answers = {key: self.adapter.answers[question["method"]] for key, question in state.input_requests.items()}
                await request("tasks/update", inputResponses=answers)
            await asyncio.sleep(0.02)
        self.adapter.state = state
        return types.CallToolResult.model_validate(state.result or {"content": []})


class Python2(Adapter):
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
            if not isinstance(message, Exception):
                self.changed(message)

        questions = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": list_roots}
        return {"logging_callback": log, "message_handler": message, **({} if bare else questions)}

    def is_modern(self):
        return self.client.protocol_version == MODERN

    async def server(self):
        return {"name": self.client.server_info.name, "version": self.client.protocol_version}

    async def tools(self):
        return (await self.client.list_tools()).tools

    async def call(self, name, arguments, progress=None, level=None):
        meta = None
        if level and self.is_modern():
            meta = {"io.modelcontextprotocol/logLevel": level}
        elif level:
            await self.client.set_logging_level(level)
        return tool_result(await self.client.call_tool(name, arguments, progress_callback=progress, meta=meta))

    async def task(self, name, arguments, cancelled):
        self.cancelled, self.state = cancelled, None
        result = await self.client.call_tool(name, arguments)
        if self.state is None:
            return {"kind": "immediate", "status": "completed", **tool_result(result)}
        code = {"code": self.state.error["code"]} if self.state.error else {}
        return {"kind": "task", "status": self.state.status, **(tool_result(result) if self.state.result else {}), **code}

    def next_request_id(self):
        return None

    async def cancel(self, request_id):
        """The library cancels the request when the call's task is cancelled."""

    async def resources(self):
        return (await self.client.list_resources()).resources

    async def templates(self):
        return [t.uri_template for t in (await self.client.list_resource_templates()).resource_templates]

    async def read(self, uri):
        return [plain(c) for c in (await self.client.read_resource(uri)).contents]

    @contextlib.asynccontextmanager
    async def watch(self, uri):
        if self.is_modern():
            async with self.client.listen(resource_subscriptions=[uri], resources_list_changed=True, prompts_list_changed=True):
                yield
            return
        await self.client.subscribe_resource(uri)
        yield
        await self.client.unsubscribe_resource(uri)

    async def prompts(self):
        return (await self.client.list_prompts()).prompts

    async def prompt(self, name, arguments):
        return [plain(m) for m in (await self.client.get_prompt(name, arguments)).messages]

    async def complete(self, ref, argument, context):
        kind = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return (await self.client.complete(kind.model_validate(ref), argument, context)).completion.values


def mode(version):
    """The mode of the library for a version. It requests only the latest version that has a handshake, unless that is changed."""
    if version == MODERN:
        return "auto"
    mcp.client.session.LATEST_HANDSHAKE_VERSION = version
    return "legacy"


@contextlib.asynccontextmanager
async def connect(server):
    if "url" in server:
        client = httpx2.AsyncClient(headers=server.get("headers"), timeout=httpx2.Timeout(30, read=300))
        target = streamable_http_client(server["url"], http_client=client)
    else:
        target = StdioServerParameters(**{k: server[k] for k in ("command", "args", "env", "cwd")})
    adapter = Python2()
    extensions = [] if server["bare"] else [Tasks(adapter)]
    async with Client(target, mode=mode(server["version"]), extensions=extensions, **adapter.callbacks(server["bare"])) as client:
        adapter.client = client
        yield adapter


if __name__ == "__main__":
    run(connect)
