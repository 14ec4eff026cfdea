package build

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// FuzzDecode: what a module answers is either a description, which reads the same when it is written
// again, or has a fault in few words.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"result":{"tools":["a"],"prompts":true}}`, `{"result":{"tools":[]}}`, `{"result":{"tools":null}}`, `{"result":null}`,
		`{"error":{"code":1,"message":"m"}}`, `{"result":{"tools":[1]}}`, `{}`, `null`, ``, `[]`, "{\"result\":{\"tools\":[\"\xff\"]}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		has, fault := decode(body)
		if fault != "" {
			if len(fault) > 500 {
				t.Errorf("the fault has %d bytes", len(fault))
			}
			return
		}
		if has.Tools == nil {
			t.Fatal("neither a list of tools nor a fault")
		}
		result, err := json.Marshal(has)
		if err != nil {
			t.Fatal(err)
		}
		response, err := json.Marshal(abi.Response{Result: result})
		if err != nil {
			t.Fatal(err)
		}
		again, fault := decode(response)
		if diff := cmp.Diff(has, again); diff != "" || fault != "" {
			t.Error(fault, diff)
		}
	})
}
