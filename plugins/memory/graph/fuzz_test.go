package graph_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/memory/graph"
)

// FuzzParse checks that the lines of a parsed graph are parsed to the same lines, and that its JSON is valid.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "\n \r\n", "x", "null", `{"type":"tag"}`,
		`{"type":"entity","name":"a","entityType":"t","observations":["x","\u2028\\u2029\ud800",""]}`,
		`{"type":"relation","from":"a","to":"b","relationType":"r"}` + "\r\n" + `{"type":"entity","name":"\"","entityType":"","observations":[]}`,
		`{"type":"entity","name":"a","entityType":"t","observations":[1]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		g, err := graph.Parse(lines)
		if err != nil {
			if g != nil {
				t.Error("a graph and an error")
			}
			return
		}
		if !json.Valid(g.JSON()) {
			t.Errorf("invalid JSON: %s", g.JSON())
		}
		written := g.Lines()
		again, err := graph.Parse(written)
		if err != nil || !bytes.Equal(again.Lines(), written) || !bytes.Equal(again.JSON(), g.JSON()) {
			t.Errorf("%v: wrote %s, read %s", err, written, again.Lines())
		}
	})
}
