package rawjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

func TestBound(t *testing.T) {
	for _, c := range []struct {
		data          string
		values, depth int
	}{
		{`1`, 1, 0},
		{` "a,[{\",[" `, 1, 0},
		{`[]`, 1, 1},
		{`[ ]`, 1, 1},
		{`{ }`, 1, 1},
		{`[1]`, 2, 1},
		{`[{},{} , {}]`, 4, 2},
		{`{"a":1,"b":[1,2,{"c,":"}"}]}`, 7, 3},
		{`[[[[]]],[]]`, 5, 4},
	} {
		if err := rawjson.Bound([]byte(c.data), c.values, c.depth); err != nil {
			t.Errorf("%s: %v", c.data, err)
		}
		if err := rawjson.Bound([]byte(c.data), c.values-1, c.depth); err == nil || err.Error() != fmt.Sprintf("contains more than %d values", c.values-1) {
			t.Errorf("%s with a limit of one value less: %v", c.data, err)
		}
		if err := rawjson.Bound([]byte(c.data), c.values, c.depth-1); c.depth > 0 && (err == nil || err.Error() != fmt.Sprintf("is nested more than %d deep", c.depth-1)) {
			t.Errorf("%s with a limit of one level less: %v", c.data, err)
		}
	}
}

func TestBoundDoesNotAllocate(t *testing.T) {
	data := []byte("[" + strings.Repeat("{},", 1<<20) + "{}]")
	if n := testing.AllocsPerRun(3, func() { _ = rawjson.Bound(data, 1<<30, 512) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzBound checks that the count agrees with encoding/json on valid JSON, and that Bound terminates on any other input.
func FuzzBound(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `{"a":{"b":[1,"}"]},"c":"\\\""}`, `[ 1 , [ ] , "," , {"x":null} ]`, `{"a"`, `["`, `"\`, `]]]`, `[,,`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if rawjson.Bound(data, 1<<30, 1<<30) != nil {
			t.Error("refused, although the bounds are far higher")
		}
		if !json.Valid(data) {
			return
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil || strings.Contains(string(data), `\u`) {
			return
		}
		// Of duplicate members, encoding/json keeps only one.
		if n := count(v); rawjson.Bound(data, n-1, 1<<30) == nil {
			t.Errorf("%s: fewer than %d values", data, n)
		}
	})
}

func count(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += count(item)
		}
	case map[string]any:
		for _, value := range v {
			n += count(value)
		}
	}
	return n
}
