// A client of the official SDK that logs in: `node login.mjs LIBRARY URL`. It prints the names of the tools, and who the server says that it is.
const [library, url] = process.argv.slice(2);
const { Client } = await import(library === 'typescript-1' ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StreamableHTTPClientTransport } = await import(library === 'typescript-1' ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client');
const { UnauthorizedError } = await import(library === 'typescript-1' ? '@modelcontextprotocol/sdk/client/auth.js' : '@modelcontextprotocol/client');

const redirectUrl = 'http://127.0.0.1/callback';
const saved = {};
let callback; // the parameters with which the provider sends the user back

// browse does what the user does in a browser: it follows redirects, keeps cookies, logs in and consents.
async function browse(address) {
  const cookies = new Map();
  let method = 'GET', body;
  for (let page = 0; page < 20; page++) {
    const response = await fetch(address, {
      method, body, redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
      cookies.set(name, value);
    }
    const to = response.headers.get('location');
    if (to) {
      [address, method, body] = [new URL(to, address), 'GET', undefined];
      if (address.href.startsWith(redirectUrl)) return address.searchParams;
      continue;
    }
    const form = await response.text();
    const action = /action="([^"]+)"/.exec(form), prompt = /name="prompt" value="([^"]+)"/.exec(form);
    if (!action || !prompt) throw new Error(`status ${response.status}: ${form.slice(0, 1000)}`);
    [address, method, body] = [new URL(action[1], address), 'POST', new URLSearchParams({ prompt: prompt[1], login: 'ann', password: 'any' })];
  }
  throw new Error('too many pages');
}

const authProvider = {
  redirectUrl,
  clientMetadata: { client_name: 'login', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none', grant_types: ['authorization_code'], response_types: ['code'], application_type: 'native' },
  clientInformation: () => saved.client,
  saveClientInformation: client => { saved.client = client; },
  tokens: () => saved.tokens,
  saveTokens: tokens => { saved.tokens = tokens; },
  saveCodeVerifier: verifier => { saved.verifier = verifier; },
  codeVerifier: () => saved.verifier,
  saveDiscoveryState: state => { saved.discovery = state; },
  discoveryState: () => saved.discovery,
  redirectToAuthorization: async address => { callback = await browse(address); },
};

const connect = async () => {
  const client = new Client({ name: library, version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  try {
    await client.connect(transport);
  } catch (error) {
    return { transport, error };
  }
  return { client };
};

const first = await connect();
if (!callback || !(first.error instanceof UnauthorizedError)) throw first.error ?? new Error('connected without a token');
await first.transport.finishAuth(callback.get('code'), callback.get('iss') ?? undefined);
const { client, error } = await connect();
if (error) throw error;
const { tools } = await client.listTools();
const [, claims] = saved.tokens.access_token.split('.');
console.log(JSON.stringify({ tools: tools.map(t => t.name).length, audience: JSON.parse(Buffer.from(claims, 'base64url')).aud, scope: saved.tokens.scope }));
await client.close();
process.exit(0);
