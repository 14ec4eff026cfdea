package jsonvalue_test

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonvalue"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestEqualNamesFirstDifference(t *testing.T) {
	for _, c := range []struct{ got, want, equal, contains string }{
		{`{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1.0}`, "", ""},
		{`9007199254740993`, `9007199254740992`, "the value is 9007199254740993, want 9007199254740992", "the value is 9007199254740993, want 9007199254740992"},
		{`1e3`, `1000`, "", ""},
		{`"1"`, `1`, `the value is "1", want 1`, `the value is "1", want 1`},
		{`1`, `"1"`, `the value is 1, want "1"`, `the value is 1, want "1"`},
		{`{"a":{"b/c":2}}`, `{"a":{"b/c":3}}`, "/a/b~1c is 2, want 3", "/a/b~1c is 2, want 3"},
		{`{"a":1,"b":2}`, `{"a":1}`, "/b is 2, which is not expected", ""},
		{`{"a":1}`, `{"a":1,"b":null}`, "/b is missing, want null", "/b is missing, want null"},
		{`[1,2]`, `[1]`, "the value has 2 items, want 1: [1,2]", "the value has 2 items, want 1: [1,2]"},
		{`[[]]`, `[null]`, "/0 is [], want null", "/0 is [], want null"},
		{`null`, `{}`, "the value is null, want {}", "the value is null, want {}"},
	} {
		if got := jsonvalue.Equal(decode(t, c.got), decode(t, c.want)); got != c.equal {
			t.Errorf("Equal(%s, %s) = %q, want %q", c.got, c.want, got, c.equal)
		}
		if got := jsonvalue.Contains(decode(t, c.got), decode(t, c.want)); got != c.contains {
			t.Errorf("Contains(%s, %s) = %q, want %q", c.got, c.want, got, c.contains)
		}
	}
}

func TestDecodeRefusesMoreThanOneValue(t *testing.T) {
	for _, text := range []string{"", "{", "1 2", "{} x"} {
		if v, err := jsonvalue.Decode([]byte(text)); err == nil {
			t.Errorf("%q is decoded as %v", text, v)
		}
	}
}
