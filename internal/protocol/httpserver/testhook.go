package httpserver

import "github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"

// TestHook, if it is not nil, is called with each message, while its call runs. disconnect ends the connection of a stream of
// the legacy era, which the client can resume. It is for tests of what no module can cause, and nil in the program.
var TestHook func(g *gateway.Gateway, m *gateway.Message, disconnect func())
