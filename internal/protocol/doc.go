// Package protocol is the district of MCP: what goes over the wire to clients, and what a call is. It must not know manifests,
// grants or modules, and plugins only by name: the gateway reaches them through a Backend, a small interface that runtime/dispatch
// implements.
//
//   - call: Request and Result, the two types that all packages on the way of a call pass on
//   - gateway: the MCP server: lines of stdio, ids and order, sessions, lists, notifications, cancellation, batches, both eras of
//     the protocol
//   - bearer: who makes an HTTP request: the single token, the file of named tokens
//   - oauth: verifies access tokens (JWTs) by the keys of their issuers
//   - oauth/oauthtest: keys and signed tokens for tests
//   - tasks: calls that are answered at once, and whose results are fetched later: their records on disk, and the state of those that run
//   - quota: what each principal may use: requests, calls at the same time, bytes and fuel a day
//   - httpserver: Streamable HTTP: origins and hosts, bounds of headers and bodies, sessions, event streams, TLS
//   - paramheader: parameters of tools that HTTP clients repeat in headers
//   - interaction: questions of a call to its client (elicitation, sampling, roots), and the sealed state of a call that waits;
//     gateway asks them
//   - tracecontext: reads which span of which trace has caused a request, by W3C Trace Context
//   - tokens: how many tokens of a model tools cost
//   - typescript: JSON Schemas as types of TypeScript, for models
//   - approval: the question whether a call may run, with its complete parameters, and the record of approvals that were used
//   - schema: validates JSON against JSON Schemas, with errors that a model can act on: catalog calls it for arguments, worker/child for
//     structured content
//   - command: for plugins that wrap a program: a tool's arguments to its command line, its output and exit code to a result
//
// Start with gateway.New and gateway.Backend; message.go and methods.go of gateway show how a line becomes a request. What HTTP adds
// is in httpserver/post.go. All input is untrusted: each package bounds what it reads.
package protocol
