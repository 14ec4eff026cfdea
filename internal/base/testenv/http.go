package testenv

import (
	"net/http"
	"strings"
)

// LastMessage returns the response in the body of an answer of an MCP server, which is a stream of events if the call writes or takes more than a
// second.
func LastMessage(answer *http.Response, body string) string {
	if i := strings.LastIndex("\n"+body, "\ndata: "); i >= 0 && answer.Header.Get("Content-Type") == "text/event-stream" {
		return strings.TrimSpace(body[i+len("data: "):])
	}
	return body
}
