"""Runs the steps of script.json with a client library: `python python1.py SERVER`. See ../node/script.mjs for SERVER and the output.
Without a script it makes the calls that it reads from stdin."""

import asyncio
import contextlib
import json
import logging
import os
import re
import sys
import threading
import traceback


class Signal:
    """Collects what handlers receive, and lets a step wait for a number of items."""

    def __init__(self):
        self.queue = asyncio.Queue()

    def add(self, item):
        self.queue.put_nowait(item)

    async def take(self, count):
        return [await self.queue.get() for _ in range(count)]


def plain(value, *names):
    """Converts a library's object to what was on the wire, or to the named members of it."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if names:
        value = {name: value[name] for name in names if value.get(name) not in (None, False)}
    return value


def tool_result(result):
    return plain(result, "content", "structuredContent", "isError")


class Adapter:
    """What a library's adapter has in common: what its handlers received, and the answers of the client."""

    def __init__(self):
        self.messages, self.changes, self.progress = Signal(), Signal(), Signal()
        self.asked, self.answers = [], {}

    def answer(self, method, result, error):
        """Answers a request of the server as the current step says. Result and error are the library's types."""
        self.asked.append(method)
        answer = self.answers[method]
        return error.model_validate(answer["error"]) if "error" in answer else result.model_validate(answer)

    def changed(self, notification):
        """Takes a notification of the server."""
        method, params = notification.method, notification.params
        if method == "notifications/resources/updated":
            self.changes.add(str(params.uri))
        elif method.endswith("/list_changed"):
            self.changes.add(method.split("/")[1])


async def progress(c, s):
    notes = []

    async def note(done, total, message):
        notes.append([done, total])

    return {**await c.call(s["tool"], s["arguments"], progress=note), "progress": notes}


async def log(c, s):
    result = await c.call(s["tool"], s["arguments"], level=s["level"])
    messages = await c.messages.take(s["messages"])
    return {**result, "messages": [[m.level, m.logger, m.data] for m in messages]}


async def cancel(c, s):
    """Cancels a call when it reports progress or, at a level, logs a message."""
    running = asyncio.Event()

    async def note(done, total, message):
        running.set()

    next_id = c.next_request_id()
    sign = {"level": s["level"]} if "level" in s else {"progress": note}
    call = asyncio.create_task(c.call(s["tool"], s["arguments"], **sign))
    runs = asyncio.create_task(c.messages.take(1) if "level" in s else running.wait())
    await asyncio.wait([call, runs], return_when=asyncio.FIRST_COMPLETED)
    if call.done():
        return call.result()
    await c.cancel(next_id)
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await call
    return "cancelled"


async def watch(c, s):
    async with c.watch(s["uri"]):
        await c.call(s["tool"], s.get("arguments", {}))
        return sorted(await c.changes.take(s["changes"]))


async def ask(c, s):
    c.answers, c.asked = s["answers"], []
    result = await c.call(s["tool"], s.get("arguments", {}))
    return {**result, "asked": sorted(c.asked)}


async def task(c, s):
    """Calls a tool as a task: how it ended, and what was asked meanwhile. A task is cancelled as soon as it exists, if the step says so."""
    c.answers, c.asked = s.get("answers", {}), []
    return {**await c.task(s["tool"], s["arguments"], s.get("cancel", False)), "asked": c.asked}


async def names(items, attribute):
    return [str(getattr(item, attribute)) for item in await items]


# Each function gets the adapter of a library and a step, and returns what the client got.
ACTIONS = {
    "server": lambda c, s: c.server(),
    "tools": lambda c, s: names(c.tools(), "name"),
    "call": lambda c, s: c.call(s["tool"], s["arguments"]),
    "progress": progress,
    "log": log,
    "cancel": cancel,
    "task": task,
    "resources": lambda c, s: names(c.resources(), "uri"),
    "templates": lambda c, s: c.templates(),
    "read": lambda c, s: c.read(s["uri"]),
    "watch": watch,
    "prompts": lambda c, s: names(c.prompts(), "name"),
    "prompt": lambda c, s: c.prompt(s["prompt"], s.get("arguments")),
    "complete": lambda c, s: c.complete(s["ref"], s["argument"], s.get("context", {}).get("arguments")),
    "ask": ask,
}


def describe(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    code = getattr(getattr(error, "error", error), "code", type(error).__name__)
    return {"error": code, "message": str(error)}


def show(step, got):
    print(json.dumps({"step": step, "got": got}), flush=True)


async def main(connect):
    with open(json.loads(sys.argv[1])["script"], encoding="utf-8") as file:
        steps = [step for step in json.load(file) if step.get("bare", False) == json.loads(sys.argv[1])["bare"]]
    try:
        async with connect(json.loads(sys.argv[1])) as adapter:
            for step in steps:
                try:
                    async with asyncio.timeout(30):
                        show(step["name"], await ACTIONS[step["do"]](adapter, step))
                except Exception as error:
                    show(step["name"], describe(error))
        show("close", "closed")
    except Exception as error:
        traceback.print_exc()
        show("connect", describe(error))


class LastAnswer(logging.Handler):
    """Keeps the status of the last answer to a message from the log of httpx, since the official library does not tell it."""

    status = 0

    def emit(self, record):
        if found := re.search(r' POST .*"HTTP/\S+ (\d+)', record.getMessage()):
            self.status = int(found[1])


async def serve(connect, server):
    """Makes the calls {"tool": name, "arguments": {…}} of stdin, one a line. After an error the next call connects again."""
    loop, calls, line = asyncio.get_running_loop(), asyncio.Queue(), None

    def read():
        for text in sys.stdin:
            loop.call_soon_threadsafe(calls.put_nowait, text)
        loop.call_soon_threadsafe(os._exit, 0)

    last = LastAnswer()
    for name in ("httpx", "httpx2"):
        logging.getLogger(name).setLevel(logging.INFO)
        logging.getLogger(name).addHandler(last)
    threading.Thread(target=read, daemon=True).start()
    while True:
        line = line or await calls.get()
        last.status = 0
        try:
            async with asyncio.timeout(10) as limit, connect(server) as adapter:
                while True:
                    limit.reschedule(None)
                    call = json.loads(line := line or await calls.get())
                    limit.reschedule(loop.time() + 10)
                    last.status = 0
                    show(call["tool"], await adapter.call(call["tool"], call["arguments"]))
                    line = None
        except Exception as error:
            if line:
                show(json.loads(line)["tool"], {**describe(error), "status": last.status})
            line = None


def run(connect):
    server = json.loads(sys.argv[1])
    asyncio.run(main(connect) if "script" in server else serve(connect, server))
