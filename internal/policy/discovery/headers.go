package discovery

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/httpheader"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// Bounds of a file of headers for a collector.
const (
	maxHeaders     = 32
	maxHeadersFile = 8 << 10 // bytes
)

// CollectorHeaders reads the headers for a collector of traces from a file with secrets. No error contains a value.
func CollectorHeaders(file string) (http.Header, error) {
	text, err := SecretFile(file, maxHeadersFile)
	var headers http.Header
	if err == nil {
		headers, err = parseHeaders(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("otlp_headers_file %s: %w", file, usage.Cause(err))
	}
	return headers, nil
}

// parseHeaders parses lines such as "Authorization: Bearer …". Blank lines and comments, which begin with #, have no effect.
func parseHeaders(text string) (http.Header, error) {
	headers := http.Header{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !found || !httpheader.IsName(name) || value == "" || !httpheader.IsValue(value):
			return nil, fmt.Errorf("line %d is no header: write NAME: VALUE", number)
		case isOurs(name):
			return nil, fmt.Errorf("line %d has a header that bulkhead sets: remove it", number)
		case headers.Get(name) != "":
			return nil, fmt.Errorf("line %d has the same header as a line before", number)
		case len(headers) == maxHeaders:
			return nil, fmt.Errorf("more than %d headers", maxHeaders)
		}
		headers.Set(name, value)
	}
	if len(headers) == 0 {
		return nil, errors.New("it has no header: write NAME: VALUE")
	}
	return headers, nil
}

// isOurs reports whether a header describes the body or the connection.
func isOurs(name string) bool {
	return httpheader.IsOfConnection(name) || strings.EqualFold(name, "Accept-Encoding") || len(name) >= 8 && strings.EqualFold(name[:8], "Content-")
}
