// A client of the official SDK that logs in: `node login.mjs LIBRARY URL [OPTIONS]`. It prints the number of the tools, what its tokens are for, and how
// often the user logged in.
const [library, url, json] = process.argv.slice(2);
const options = { user: 'ann', password: 'any', grants: ['authorization_code'], ...JSON.parse(json ?? '{}') };
const { Client } = await import(library === 'typescript-1' ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StreamableHTTPClientTransport } = await import(library === 'typescript-1' ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client');
const { UnauthorizedError } = await import(library === 'typescript-1' ? '@modelcontextprotocol/sdk/client/auth.js' : '@modelcontextprotocol/client');

const redirectUrl = 'http://127.0.0.1/callback';
const saved = { issued: [] };
let callback; // the parameters with which the provider sends the user back
let logins = 0;

const unescape = text => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"');
const attribute = (tag, name) => unescape(new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? '');

// fill returns what the user sends with a form: name and password, and consent where that is asked for.
function fill(form) {
  const fields = new URLSearchParams();
  for (const [tag] of form.matchAll(/<(?:input|button)\b[^>]*>/g)) {
    const name = attribute(tag, 'name'), type = attribute(tag, 'type');
    if (!name || name === 'cancel' || type === 'checkbox') continue;
    fields.set(name, type === 'password' ? options.password : ['login', 'username'].includes(name) ? options.user : attribute(tag, 'value'));
  }
  return fields;
}

// browse does what the user does in a browser: it follows redirects, keeps cookies, logs in and consents.
async function browse(address) {
  logins++;
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
    const text = await response.text();
    const form = /<form\b[^>]*action="[^"]*"[^]*?<\/form>/.exec(text)?.[0];
    if (!form || page > 10) throw new Error(`status ${response.status}: ${text.slice(0, 4000)}`);
    [address, method, body] = [new URL(attribute(form, 'action'), address), 'POST', fill(form)];
  }
  throw new Error('too many pages');
}

const authProvider = {
  redirectUrl,
  clientMetadataUrl: options.client,
  clientMetadata: { client_name: 'login', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none', grant_types: options.grants, response_types: ['code'], application_type: 'native' },
  clientInformation: () => saved.client,
  saveClientInformation: client => { saved.client = client; },
  tokens: () => saved.tokens,
  saveTokens: tokens => { saved.tokens = tokens; saved.issued.push(tokens.access_token); },
  saveCodeVerifier: verifier => { saved.verifier = verifier; },
  codeVerifier: () => saved.verifier,
  saveDiscoveryState: state => { saved.discovery = state; },
  discoveryState: () => saved.discovery,
  redirectToAuthorization: async address => { callback = await browse(address); },
};

// connect returns a client, after as many logins as the server demands, each with the rights that it names.
async function connect() {
  for (let attempt = 0; ; attempt++) {
    const client = new Client({ name: library, version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
    callback = undefined;
    try {
      await client.connect(transport);
      return client;
    } catch (error) {
      if (!callback || attempt === 2 || !(error instanceof UnauthorizedError)) throw error;
      if (!callback.get('code')) throw new Error(`the provider refused: ${callback}`);
      await transport.finishAuth(callback.get('code'), callback.get('iss') ?? undefined);
    }
  }
}

const client = await connect();
const { tools } = await client.listTools();
const claims = JSON.parse(Buffer.from(saved.tokens.access_token.split('.')[1], 'base64url'));
console.log(JSON.stringify({
  tools: tools.length, audience: claims.aud, scope: saved.tokens.scope, client: saved.client.client_id, logins, tokens: new Set(saved.issued).size, token: saved.tokens.access_token,
}));
await client.close();
process.exit(0);
