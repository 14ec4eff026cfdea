package build

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecode checks that a response is either a description, which round-trips, or has a short fault.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"tools":["a"],"prompts":true}`, `{"tools":[]}`, `{"tools":null}`, `{"tools":[1]}`, `{}`, `null`, ``, `[]`, "{\"tools\":[\"\xff\"]}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		has, fault := decode(body, nil)
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
		again, fault := decode(result, nil)
		if diff := cmp.Diff(has, again); diff != "" || fault != "" {
			t.Error(fault, diff)
		}
	})
}
