package call

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// FuzzValidate checks that Validate accepts valid objects in UTF-8 only, and finds the members that rawjson.Members does.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{
		`{"content":[],"isError":true}`, ` { "a" : { "b":1 } , "\u0061":2 } `, `{}`, `[]`, `{"a":1`, `{"a":1}{`, "{\"\xff\":1}", ``,
		`{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8}`, `{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := Result{Body: body}
		want := json.Valid(body) && utf8.Valid(body) && rawjson.Kind(body) == '{'
		if got := r.Validate(); got != want {
			t.Fatalf("Validate(%q) = %t, want %t", body, got, want)
		}
		if !want {
			return
		}
		if diff := cmp.Diff(maps.Collect(rawjson.Members(body)), maps.Collect(r.Members())); diff != "" {
			t.Errorf("members of %s (-want +got):\n%s", body, diff)
		}
	})
}

// TestValidateAllocatesNothingForMoreMembers checks that a result with many members takes no memory for them in the host.
func TestValidateAllocatesNothingForMoreMembers(t *testing.T) {
	object := func(n int) []byte {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, `,"%d":1`, i)
		}
		return []byte("{" + out.String()[1:] + "}")
	}
	few, many := object(maxMembers), object(100_000)
	allocated := func(body []byte) float64 {
		return testing.AllocsPerRun(10, func() {
			r := Result{Body: body}
			if !r.Validate() {
				t.Fatal("Validate refuses a valid object")
			}
		})
	}
	if got, want := allocated(many), allocated(few); got > want {
		t.Errorf("%v allocations for 100,000 members, %v for %d", got, want, maxMembers)
	}
}
