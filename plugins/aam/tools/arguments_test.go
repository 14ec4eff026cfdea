package tools

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
)

func TestArguments(t *testing.T) {
	tests := []struct {
		name, tool, arguments string
		want                  string // a substring of the expected error; "" for no error
	}{
		{"no arguments", "aam_list", ``, ""},
		{"an empty object", "aam_list", `{}`, ""},
		{"null instead of an object", "aam_list", `null`, ""},
		{"a list", "aam_list", `[]`, "arguments must be an object"},
		{"an argument for a tool without arguments", "aam_list", `{"verbose":true}`, `unknown argument "verbose"; arguments are: none`},
		{"an unknown argument", "aam_info", `{"name":"x"}`, `unknown argument "name"; arguments are: package_name, version`},
		{"the first of several unknown ones by name", "aam_info", `{"z":1,"b":2}`, `"b"`},
		{"a missing required argument", "aam_info", `{}`, "package_name is required"},
		{"a required argument that is null", "aam_info", `{"package_name":null}`, "package_name must be a string"},
		{"a number for a string", "aam_info", `{"package_name":7}`, "package_name must be a string"},
		{"null for an optional argument", "aam_info", `{"package_name":"x","version":null}`, ""},
		{"a number for an optional string", "aam_info", `{"package_name":"x","version":1}`, "version must be a string or null"},
		{"null for an argument with a default", "aam_validate", `{"path":null}`, "path must be a string"},
		{"an integer with an exponent", "aam_search", `{"query":"","limit":1e1}`, ""},
		{"a number that is not an integer", "aam_search", `{"query":"","limit":1.5}`, "limit must be an integer"},
		{"an integer out of range", "aam_search", `{"query":"","limit":1e300}`, "limit must be an integer"},
		{"a string for a number", "aam_search", `{"query":"","limit":"5"}`, "limit must be an integer"},
		{"a string for a boolean", "aam_install", `{"packages":[],"force":"yes"}`, "force must be true or false"},
		{"a list with null in it", "aam_install", `{"packages":["a",null]}`, "packages must be a list of strings"},
		{"a string for a list", "aam_install", `{"packages":"a"}`, "packages must be a list of strings"},
		{"a list that is null", "aam_install", `{"packages":null}`, "packages must be a list of strings"},
		{"a list for an optional argument", "aam_create_package", `{"artifact_types":null}`, ""},
		{"an unused argument is validated", "aam_create_package", `{"include_all":1}`, "include_all must be true or false"},
		{"the first invalid argument is reported", "aam_registry_add", `{"name":1,"url":2}`, "name must be a string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := read(t, test.tool, test.arguments)
			switch {
			case test.want == "" && err == nil:
			case test.want == "" || err == nil:
				t.Errorf("got %v, want %q", err, test.want)
			case fault.From(err).Code != fault.InvalidArgument || !strings.Contains(err.Error(), test.want):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// read decodes the arguments in raw as the tool called name does, and returns the error.
func read(t *testing.T, name, raw string) error {
	t.Helper()
	at := slices.IndexFunc(all(), func(tool tool) bool { return tool.name == name })
	if at < 0 {
		t.Fatalf("there is no tool %s", name)
	}
	a, err := readArguments(json.RawMessage(raw), all()[at].arguments)
	if err != nil {
		return err
	}
	all()[at].read(a)
	return a.err
}

// FuzzArguments checks that arguments are either decoded or refused with the code InvalidArgument.
func FuzzArguments(f *testing.F) {
	f.Add(`{"query":"a","limit":1,"package_type":null}`)
	f.Add(`{"packages":["a",{"b":[]}],"force":null}`)
	f.Add(`{"path":"\u0000","artifact_types":[[]]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, tool := range all() {
			if err := read(t, tool.name, raw); err != nil && fault.From(err).Code != fault.InvalidArgument {
				t.Errorf("%s: %v", tool.name, err)
			}
		}
	})
}

func TestEncode(t *testing.T) {
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"strings without secrets are unchanged", map[string]string{"a": `<b> & "c" \ é`}, `{"a":"<b> & \"c\" \\ é"}`},
		{"secrets in URLs are masked", []string{"see https://u:p@e.org/?t=s", "x"}, `["see https://***@e.org/?t=***","x"]`},
		{"keys, too", map[string]int{"https://u:p@e.org": 1}, `{"https://***@e.org":1}`},
		{"numbers and null", []any{1, nil, true, 1.5}, `[1,null,true,1.5]`},
		{"nothing", "", `""`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := encode(test.value)
			if diff := cmp.Diff(test.want, string(got)); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// FuzzEncode checks that the output is equivalent to the input, except for redacted secrets.
func FuzzEncode(f *testing.F) {
	f.Add(`a"b\c`, "é\u2028")
	f.Add("https://u:p@h", "\xff")
	f.Fuzz(func(t *testing.T, key, value string) {
		got, err := encode(map[string]string{key: value})
		if err != nil || !json.Valid(got) {
			t.Fatalf("%s, %v", got, err)
		}
		plain, err := json.Marshal(map[string]string{key: value})
		if err != nil {
			t.Fatal(err)
		}
		var want, have map[string]string
		if json.Unmarshal(plain, &want) != nil || json.Unmarshal(got, &have) != nil {
			t.Fatal("the encoded value is not an object")
		}
		if redact.Text(key) == key && redact.Text(value) == value && !cmp.Equal(want, have) {
			t.Errorf("%q became %q", want, have)
		}
	})
}
