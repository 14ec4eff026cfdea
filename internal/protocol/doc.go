// Package protocol is the district of MCP: what goes over the wire to clients, and what a call is. It must not know plugins, manifests,
// grants or modules: the gateway gets them as a Backend, a small interface that runtime/dispatch implements.
//
//   - call: Request and Result, the two types that all packages on the way of a call pass on
//   - gateway: the MCP server: lines of stdio, ids and order, sessions, lists, notifications, cancellation, batches, both eras of the protocol
//   - httpserver: Streamable HTTP: bearer tokens, origins and hosts, sessions, event streams, TLS
//   - paramheader: parameters of tools that HTTP clients repeat in headers
//   - interaction: questions of a call to its client (elicitation, sampling, roots), and the sealed state of a call that waits
//   - schema: validates arguments and structured content against JSON Schemas, with errors that a model can act on
//   - command: a tool's arguments as the command line of a program, for plugins that wrap one
//
// Start with gateway.New and gateway.Backend; message.go and methods.go of gateway show how a line becomes a request. What HTTP adds
// is in httpserver/post.go. All input is untrusted: each package bounds what it reads.
package protocol
