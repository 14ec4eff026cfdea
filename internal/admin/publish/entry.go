package publish

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// entry returns the table of a catalogue for what was published.
func entry(p *Published, m *manifest.Manifest) string {
	var out strings.Builder
	out.WriteString("[[plugins]]\n")
	for _, key := range []struct{ name, value string }{
		{"name", p.Name}, {"version", p.Version}, {"description", m.Description}, {"from", p.From}, {"sha256", p.Manifest}, {"signer", p.Signer},
	} {
		if key.value != "" {
			fmt.Fprintf(&out, "%s = %s\n", key.name, tomlfile.Text(key.value))
		}
	}
	return out.String()
}
