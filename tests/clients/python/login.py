"""A client of the official Python SDK, version 2, that logs in: login.py LIBRARY URL. It prints the number of tools, and what the token is for."""

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


class Storage:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


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
            action, prompt = re.search('action="([^"]+)"', response.text), re.search('name="prompt" value="([^"]+)"', response.text)
            if not action or not prompt:
                raise RuntimeError(f"status {response.status_code}: {response.text[:1000]}")
            address, method = urljoin(address, html.unescape(action[1])), "POST"
            form = {"prompt": prompt[1], "login": "ann", "password": "any"}
    raise RuntimeError("too many pages")


async def main(url):
    storage, callback = Storage(), {}

    async def redirect(address):
        callback.update(await browse(address))

    async def result():
        return AuthorizationCodeResult(code=callback["code"], state=callback.get("state"), iss=callback.get("iss"))

    metadata = OAuthClientMetadata(client_name="login", redirect_uris=[REDIRECT], token_endpoint_auth_method="none", grant_types=["authorization_code"], application_type="native")
    auth = OAuthClientProvider(url, metadata, storage, redirect, result)
    async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            tools = (await client.list_tools()).tools
    claims = storage.tokens.access_token.split(".")[1]
    audience = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["aud"]
    print(json.dumps({"tools": len(tools), "audience": audience, "scope": storage.tokens.scope}))


asyncio.run(main(sys.argv[2]))
