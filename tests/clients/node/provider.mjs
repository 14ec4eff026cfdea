// An OpenID provider on loopback, with the pages for login and consent of its development mode: `node provider.mjs [OPTIONS]`. It prints its issuer, and
// ends with its standard input.
import http from 'node:http';
import Provider from 'oidc-provider';

// documents: clients are known by the URL of their metadata, and not registered. reluctant: the first token of a client has no scope.
// seconds: how long access tokens are valid. expired: the token of a login has expired.
const { documents = false, reluctant = false, seconds = 600, expired = false } = JSON.parse(process.argv[2] ?? '{}');
const issued = new Set(); // clients that have a token

const server = http.createServer((request, response) => handle(request, response));
let handle;
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    scopes: ['openid', 'offline_access', 'mcp:use'],
    features: {
      registration: { enabled: !documents },
      clientIdMetadataDocument: { enabled: documents, ack: 'draft-02' },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource, client) => ({
          scope: reluctant && !issued.has(client.clientId) ? '' : 'mcp:use',
          audience: resource, accessTokenTTL: seconds, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    formats: {
      customizers: {
        jwt: (_, token, jwt) => {
          if (expired && token.gty === 'authorization_code') jwt.payload.exp = jwt.payload.iat - 120;
        },
      },
    },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    fetch: (url, { dispatcher, ...options }) => fetch(url, options), // the dispatcher refuses documents on loopback
    cookies: { keys: ['for a test'] },
  });
  provider.on('access_token.issued', token => issued.add(token.clientId));
  handle = provider.callback();
  console.log(issuer);
});
process.stdin.resume().on('end', () => process.exit(0));
