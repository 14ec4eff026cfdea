"""A client of the official Python SDK, version 2, that logs in: login.py LIBRARY URL [OPTIONS]. It prints the number of tools, what its tokens are
for, and how often the user logged in."""

import asyncio
import base64
import html
import json
import re
import sys
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

REDIRECT = "http://127.0.0.1/callback"
OPTIONS = {"user": "ann", "password": "any", "grants": ["authorization_code"], "client": None, "wait": 0}


class Storage:
    tokens = None
    client = None
    issued = set()

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens
        self.issued.add(tokens.access_token)

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


def attribute(tag, name):
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return html.unescape(found[1]) if found else ""


def fill(form):
    """Returns what the user sends with a form: name and password, and consent where that is asked for."""
    fields = {}
    for tag in re.findall(r"<(?:input|button)\b[^>]*>", form):
        name, kind = attribute(tag, "name"), attribute(tag, "type")
        if name and name != "cancel" and kind != "checkbox":
            fields[name] = OPTIONS["password"] if kind == "password" else OPTIONS["user"] if name in ("login", "username") else attribute(tag, "value")
    return fields


async def browse(address):
    """Does what the user does in a browser: it follows redirects, keeps cookies, logs in and consents."""
    cookies, method, form = {}, "GET", None
    async with httpx2.AsyncClient(follow_redirects=False) as browser:
        for _ in range(20):
            headers = {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
            response = await browser.request(method, address, data=form, headers=headers)
            for cookie in response.headers.get_list("set-cookie"):
                name, value = cookie.split(";")[0].split("=", 1)
                cookies[name] = value
            browser.cookies.clear()
            if "location" in response.headers:
                address, method, form = urljoin(address, response.headers["location"]), "GET", None
                if address.startswith(REDIRECT):
                    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
                continue
            page = re.search(r'<form\b[^>]*action="[^"]*".*?</form>', response.text, re.DOTALL)
            if not page:
                raise RuntimeError(f"status {response.status_code}: {response.text[:4000]}")
            address, method, form = urljoin(address, attribute(page[0], "action")), "POST", fill(page[0])
    raise RuntimeError("too many pages")


async def main(url):
    storage, callback, logins = Storage(), {}, 0

    async def redirect(address):
        nonlocal logins
        logins += 1
        callback.clear()
        callback.update(await browse(address))

    async def result():
        return AuthorizationCodeResult(code=callback["code"], state=callback.get("state"), iss=callback.get("iss"))

    metadata = OAuthClientMetadata(client_name="login", redirect_uris=[REDIRECT], token_endpoint_auth_method="none", grant_types=OPTIONS["grants"], application_type="native")
    auth = OAuthClientProvider(url, metadata, storage, redirect, result, client_metadata_url=OPTIONS["client"])
    for attempt in range(3):  # the SDK demands further rights with the next request only
        try:
            async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
                async with Client(streamable_http_client(url, http_client=http)) as client:
                    await client.list_tools()
                    await asyncio.sleep(OPTIONS["wait"])  # until the access token is to be refreshed
                    tools = (await client.list_tools()).tools
            break
        except Exception:
            if attempt == 2 or logins != attempt + 1:
                raise
    token = storage.tokens.access_token
    claims = token.split(".")[1]
    audience = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["aud"]
    print(json.dumps({"tools": len(tools), "audience": audience, "scope": storage.tokens.scope, "client": storage.client.client_id, "logins": logins, "tokens": len(storage.issued), "token": token}))


OPTIONS.update(json.loads(sys.argv[3]) if len(sys.argv) > 3 else {})
asyncio.run(main(sys.argv[2]))
