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

// FuzzValidate checks that Validate accepts valid objects in UTF-8 only, and finds the members that rawjson.Members does. What it accepts
// is read by strict decoders too.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{
		`{"content":[],"isError":true}`, ` { "a" : { "b":1 } , "\u0061":2 } `, `{}`, `[]`, `{"a":1`, `{"a":1}{`, "{\"\xff\":1}", ``,
		`{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8}`, `{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := Result{Body: body}
		why := r.Validate()
		unusual := strings.HasPrefix(why, "it is nested") || strings.HasPrefix(why, "it has a number") || strings.Contains(why, "only in case") || strings.Contains(why, "given twice")
		if want := json.Valid(body) && utf8.Valid(body) && rawjson.Kind(body) == '{'; want != (why == "" || unusual) {
			t.Fatalf("Validate(%q) = %q, want acceptance: %t", body, why, want)
		}
		if why != "" {
			return
		}
		var decoded any
		if err := json.Unmarshal(body, &decoded); err != nil { // converts numbers to float64
			t.Errorf("%s was accepted: %v", body, err)
		}
		s := rawjson.NewScanner(body)
		if s.Value(); s.HasUnpaired() {
			t.Errorf("%s has a surrogate without its other half", body)
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
			if why := r.Validate(); why != "" {
				t.Fatal("Validate refuses a valid object:", why)
			}
		})
	}
	if got, want := allocated(many), allocated(few); got > want {
		t.Errorf("%v allocations for 100,000 members, %v for %d", got, want, maxMembers)
	}
}

// TestValidateRefusesWhatEndsParsersOfClients checks bounds of the result of a worker, which may send anything.
func TestValidateRefusesWhatEndsParsersOfClients(t *testing.T) {
	nested := func(levels int) string {
		return `{"content":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
	}
	for name, c := range map[string]struct{ body, want, changed string }{
		"120 levels":                     {body: nested(120)},
		"121 levels":                     {body: nested(121), want: "it is nested more than 120 deep"},
		"5,000 levels":                   {body: nested(5000), want: "it is nested more than 120 deep"},
		"an error with deep data":        {body: `{"code":1,"message":"m","data":` + nested(120) + `}`, want: "it is nested more than 120 deep"},
		"a number above all floats":      {body: `{"a":1e309}`, want: "it has a number that exceeds the range of 64-bit floats"},
		"a number below all floats":      {body: `{"a":[-1e+400]}`, want: "it has a number that exceeds the range of 64-bit floats"},
		"an integer above all floats":    {body: `{"a":1` + strings.Repeat("0", 309) + `}`, want: "it has a number that exceeds the range of 64-bit floats"},
		"the largest float":              {body: `{"a":1.7976931348623157e308,"b":-1.7976931348623157E+308,"c":1e-400,"d":12345678901234567890}`},
		"a number of 1,001 characters":   {body: `{"a":0.` + strings.Repeat("1", 999) + `}`, want: "it has a number of more than 1000 characters"},
		"half a pair of surrogates":      {body: `{"a":"x\ud83dy"}`, changed: `{"a":"x\ufffdy"}`},
		"the other half":                 {body: `{"a":["\uDE00\ud83d"]}`, changed: `{"a":["\ufffd\ufffd"]}`},
		"half a pair in a key":           {body: `{"\uD83D":1}`, changed: `{"\ufffd":1}`},
		"two first halves":               {body: `{"a":"\ud83d\ud83d\ude00"}`, changed: `{"a":"\ufffd\ud83d\ude00"}`},
		"a pair, and an escaped escape":  {body: `{"a":"\ud83d\ude00\\ud83d"}`},
		"a duplicate of a known member":  {body: `{"content":[],"content":[]}`, want: "content is given twice"},
		"a known member in another case": {body: `{"resultType":"complete","ResultType":"input_required"}`, want: "ResultType differs from resultType only in case"},
		"a duplicate of another member":  {body: `{"a":1,"a":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := Result{Body: []byte(c.body)}
			if got := r.Validate(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if c.changed == "" {
				c.changed = c.body
			}
			if string(r.Body) != c.changed {
				t.Errorf("the body became %s, want %s", r.Body, c.changed)
			}
		})
	}
}

func TestAddMeta(t *testing.T) {
	for body, want := range map[string]string{
		`{"content":[]}`:                      `{"_meta":{"k":7},"content":[]}`,
		`{"_meta":{"a":1,"k":2},"content":1}`: `{"_meta":{"k":7,"a":1},"content":1}`,
		`{"_meta":3}`:                         `{"_meta":{"k":7}}`,
		`{}`:                                  `{"_meta":{"k":7}}`,
	} {
		r := Result{Kind: ToolError, Body: []byte(body), Fuel: 5}
		if why := r.Validate(); why != "" {
			t.Fatal(why)
		}
		got := r.AddMeta("k", []byte("7"))
		if string(got.Body) != want || got.Kind != ToolError || got.Fuel != 5 {
			t.Errorf("%s: got %+v, %s; want %s", body, got, got.Body, want)
		}
		var members []string
		for key, value := range got.Members() {
			members = append(members, fmt.Sprintf("%q:%s", key, value))
		}
		if text := "{" + strings.Join(members, ",") + "}"; text != want {
			t.Errorf("%s: the members are %s, want %s", body, text, want)
		}
	}
}
