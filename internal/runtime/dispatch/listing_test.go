package dispatch

import (
	"encoding/json"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

func TestPluginsDoNotSeeTheCursor(t *testing.T) {
	for params, want := range map[string]string{
		``:                                    ``,
		`{}`:                                  `{}`,
		`{"cursor":"x"}`:                      `{}`,
		`{"a":1,"cursor":null,"_meta": {}}`:   `{"a":1,"_meta":{}}`,
		`{"cursor":"x","_meta":{"cursor":1}}`: `{"_meta":{"cursor":1}}`,
	} {
		if got := string(withoutCursor(call.Request{Params: json.RawMessage(params), Cursor: rawjson.Member([]byte(params), "cursor")})); got != want {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
	}
}
