// An OpenID provider on loopback, with the pages for login and consent of its development mode. It prints its issuer, and ends with its
// standard input.
import http from 'node:http';
import Provider from 'oidc-provider';

const server = http.createServer((request, response) => handle(request, response));
let handle;
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    scopes: ['openid', 'offline_access', 'mcp:use'],
    features: {
      registration: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: 'mcp:use', audience: resource, accessTokenTTL: 600, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    cookies: { keys: ['for a test'] },
  });
  handle = provider.callback();
  console.log(issuer);
});
process.stdin.resume().on('end', () => process.exit(0));
