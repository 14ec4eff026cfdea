package tools

import (
	"encoding/json"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/report"
)

// FuzzArguments checks that decoded values have at most the allowed size, and that only the boolean true is an
// approval.
func FuzzArguments(f *testing.F) {
	f.Add(`{"yes":true,"confirm_token":"t"}`)
	f.Add(`{"to":"1","dry_run":true,"only":["missing","missing"]}`)
	f.Add(`{"kind":"diff","target":"codex","scope":"global"}`)
	f.Add(`{"yes":true,"yes":false}`)
	f.Add(` null`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, tool := range all() {
			read, err := tool.read(json.RawMessage(raw))
			var given struct{ Yes any }
			_ = json.Unmarshal([]byte(raw), &given) // given stays empty for a value that is not an object, because such a value has no arguments
			if read.yes && given.Yes != true {
				t.Errorf("%s: %q counts as approval", tool.name, raw)
			}
			if len(read.only) > 3 || len(read.repo) > maxString || tool.command(read).ID == "" {
				t.Errorf("%s: the arguments %q are decoded as %+v", tool.name, raw, read)
			}
			for _, kind := range read.only {
				if kind != report.Missing && kind != report.Modified && kind != report.Extra {
					t.Errorf("%s: the arguments %q select the kind %q", tool.name, raw, kind)
				}
			}
			if err == nil && tool.name == "explain" && read.kind == "" {
				t.Errorf("%q is accepted as kind", raw)
			}
		}
	})
}
