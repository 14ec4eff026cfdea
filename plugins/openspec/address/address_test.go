package address_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/address"
)

func TestParse(t *testing.T) {
	for uri, want := range map[string]address.Address{
		"openspec://specs":                          {In: address.Specs},
		"openspec://specs/a/b-c":                    {In: address.Specs, Name: "a/b-c"},
		"OPENSPEC://specs/%61%20b":                  {In: address.Specs, Name: "a b"},
		"openspec://changes/x":                      {In: address.Changes, Name: "x"},
		"openspec://changes/x/design":               {In: address.Changes, Name: "x", Part: address.Design},
		"openspec://changes/x/specs":                {In: address.Changes, Name: "x", Part: address.Deltas},
		"openspec://archive/2026-01-01-x/specs/a/b": {In: address.Archive, Name: "2026-01-01-x", Part: address.Deltas, Capability: "a/b"},
		"openspec://project":                        {In: address.Project},
		"openspec://instructions":                   {In: address.Instructions},
	} {
		got, err := address.Parse(uri)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", uri, err, diff)
		}
	}
}

// FuzzParse checks that no parsed address refers to a path above its directory, and that String is the inverse of Parse.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"openspec://specs/a/b", "openspec://changes/x/specs/%2e%2e", "openspec://archive/a%2fb/tasks", "openspec://specs/..%00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		at, err := address.Parse(uri)
		if err != nil {
			return
		}
		for _, name := range []string{at.Name, at.Capability} {
			for segment := range strings.SplitSeq(name, "/") {
				if strings.Contains(segment, "..") || strings.ContainsAny(segment, "\\\x00") || strings.HasPrefix(segment, ".") || strings.HasPrefix(name, "/") {
					t.Errorf("the URI %q is parsed to the name %q", uri, name)
				}
			}
		}
		again, err := address.Parse(at.String())
		if err != nil || again != at {
			t.Errorf("the URI %q is formatted as %q, which is parsed as %+v, %v", uri, at, again, err)
		}
	})
}
