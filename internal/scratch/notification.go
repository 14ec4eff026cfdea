package scratch

import (
	"encoding/json"
	"strings"
)

// IsStartReport reports whether a notification of the host says that a call waits for its worker process. Tests ignore such
// notifications, since the load of the machine decides whether there are any.
func IsStartReport(method string, params []byte) bool {
	var p struct {
		Progress      *float64
		Message, Data string
	}
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	text := p.Data
	switch {
	case method == "notifications/progress" && p.Progress != nil && *p.Progress < 1e-3: // host.Host counts in millionths
		text = p.Message
	case method != "notifications/message":
		return false
	}
	return strings.HasPrefix(text, "starting plugin ") || strings.HasPrefix(text, "compiling the module of plugin ")
}
