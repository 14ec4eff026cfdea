package host

import (
	"encoding/json"
	"errors"
	"io/fs"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/engine"
	"github.com/bulkhead-mcp/bulkhead/host/gateway"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// FuzzResponse: whatever bytes a module answers with, they are a result that is JSON, an error of the plugin's
// own, or the plugin's failure; and faults of the file system change nothing about that.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		done, `{"result":{"content":[],"isError":true}}`, `{"result":{"content":7,"isError":true}}`, `{"result":null}`, `{}`, ``, `null`, `[]`,
		`{"error":{"code":-32602,"message":"no","data":{"a":1}}}`, `{"error":null}`, `{"error":7}`, `{"error":{"code":1e99}}`,
		`{"result":1,"error":{"code":1,"message":"both"}}`, `{"result":1,"result":2}`, "{\"result\":\"\xff\"}", `{"result":{}} `, `{"res\u0075lt":{}}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	r := (&plugin{name: "it", manifest: &manifest.Manifest{}, log: hclog.NewNullLogger()}).ask(gateway.Request{Method: abi.MethodToolsCall, Name: "it_reads"}, false)
	f.Fuzz(func(t *testing.T, body []byte, faulty bool) {
		response := engine.Response{Body: body}
		if faulty {
			response.Faults = []error{fs.ErrPermission}
		}
		result, err := r.result(response)
		switch {
		case err == nil && !json.Valid(result):
			t.Errorf("%q: the result %q is no JSON", body, result)
		case err != nil && !errors.As(err, new(*gateway.Failure)) && !errors.As(err, new(*abi.Error)):
			t.Errorf("%q: %T is neither the plugin's failure nor an error of its own: %v", body, err, err)
		}
	})
}
