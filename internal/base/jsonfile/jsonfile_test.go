package jsonfile

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var entry = Object{{"command", "/opt/b"}, {"args", []string{"serve", "a \"b\""}}}

func TestSetAddsMemberInStyleOfFile(t *testing.T) {
	tests := map[string]struct{ before, after string }{
		"empty file": {"", `{
  "servers": {
    "b": {
      "command": "/opt/b",
      "args": ["serve", "a \"b\""]
    }
  }
}
`},
		"no members": {"{}", `{
  "servers": {
    "b": {
      "command": "/opt/b",
      "args": ["serve", "a \"b\""]
    }
  }
}`},
		"only a comment": {"{\n\t// nothing yet }\n}\n", "{\n\t// nothing yet }\n  \"servers\": {\n    \"b\": {\n      \"command\": \"/opt/b\",\n      \"args\": [\"serve\", \"a \\\"b\\\"\"]\n    }\n  }\n}\n"},
		"tabs, comment behind the last member": {
			"{\n\t\"x\": 1, // one\n\t\"servers\": {\n\t\t\"a\": {\"url\": \"u\"} // theirs\n\t\t// more\n\t}\n}\n",
			"{\n\t\"x\": 1, // one\n\t\"servers\": {\n\t\t\"a\": {\"url\": \"u\"}, // theirs\n\t\t\"b\": {\n\t\t\t\"command\": \"/opt/b\",\n\t\t\t\"args\": [\"serve\", \"a \\\"b\\\"\"]\n\t\t}\n\t\t// more\n\t}\n}\n"},
		"trailing comma": {
			"{\n  \"servers\": {\n    \"a\": {}, /* two\n lines */\n  },\n}",
			"{\n  \"servers\": {\n    \"a\": {}, /* two\n lines */\n    \"b\": {\n      \"command\": \"/opt/b\",\n      \"args\": [\"serve\", \"a \\\"b\\\"\"]\n    },\n  },\n}"},
		"one line": {
			`{"z": [1,  2], "servers": {"a": {}}}`,
			`{"z": [1,  2], "servers": {"a": {}, "b": {"command": "/opt/b", "args": ["serve", "a \"b\""]}}}`},
		"one line with a trailing comma": {
			`{"servers": {"a": {}, }}`,
			`{"servers": {"a": {}, "b": {"command": "/opt/b", "args": ["serve", "a \"b\""]}, }}`},
		"line feeds with carriage returns": {
			"{\r\n  \"servers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
			"{\r\n  \"servers\": {\r\n    \"a\": {},\r\n    \"b\": {\r\n      \"command\": \"/opt/b\",\r\n      \"args\": [\"serve\", \"a \\\"b\\\"\"]\r\n    }\r\n  }\r\n}\r\n"},
		"byte order mark, comment in the last line": {
			"\ufeff{\"servers\": {\"a\": 1}} // end",
			"\ufeff{\"servers\": {\"a\": 1, \"b\": {\"command\": \"/opt/b\", \"args\": [\"serve\", \"a \\\"b\\\"\"]}}} // end"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			after, err := Set([]byte(test.before), []string{"servers", "b"}, entry)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(after)); diff != "" {
				t.Errorf("(want -, got +)\n%s", diff)
			}
			again, err := Set(after, []string{"servers", "b"}, entry)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := Decode(after)
			if got, err := Decode(again); err != nil || !reflect.DeepEqual(want, got) {
				t.Errorf("setting the same value again: got error %v, values %v, file\n%s", err, got, again)
			}
			if !strings.Contains(test.before, `"a"`) {
				return
			}
			removed, err := Remove(after, []string{"servers", "b"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.before, string(removed)); diff != "" {
				t.Errorf("removing the added member does not restore the file (want -, got +)\n%s", diff)
			}
		})
	}
}

func TestSetReplacesValueOnly(t *testing.T) {
	before := "{\n  \"servers\": {\n    \"b\": { \"command\" : \"old\" /* why */, \"env\": {\"T\": \"1\"}, },\n  }\n}"
	after, err := Set([]byte(before), []string{"servers", "b", "command"}, "new")
	if want := strings.Replace(before, "old", "new", 1); err != nil || string(after) != want {
		t.Errorf("got %s, %v", after, err)
	}
	after, err = Set(after, []string{"servers", "b", "args"}, []string{})
	if want := strings.Replace(strings.Replace(before, "old", "new", 1), `{"T": "1"},`, `{"T": "1"}, "args": [],`, 1); err != nil || string(after) != want {
		t.Errorf("got %s, %v", after, err)
	}
}

func TestRemoveKeepsEverythingElse(t *testing.T) {
	tests := map[string]struct{ before, after string }{
		"first of several":      {"{\n  \"b\": {\n    \"x\": 1\n  },\n  \"a\": 1\n}", "{\n  \"a\": 1\n}"},
		"first in one line":     {`{ "b": 1, "a": 2 }`, `{ "a": 2 }`},
		"middle in one line":    {`{"c": 0, "b": 1, "a": 2}`, `{"c": 0, "a": 2}`},
		"last in one line":      {`{ "a": 2, "b": 1 }`, `{ "a": 2 }`},
		"last with comments":    {"{\n  \"a\": 2, // a\n  \"b\": 1 // b\n}", "{\n  \"a\": 2 // a\n  // b\n}"},
		"only one":              {"{\n  \"b\": 1\n}\n", "{}\n"},
		"only one, with a note": {"{\n  // n\n  \"b\": 1\n}\n", "{\n  // n\n}\n"},
		"comma behind comment":  {"{\"b\": 1 /* c */, \"a\": 2}", "{ /* c */ \"a\": 2}"},
		"comma at line start":   {"{ \"a\": 1\n, \"b\": 2\n}", "{ \"a\": 1\n\n}"},
	}
	for name, test := range tests {
		after, err := Remove([]byte(test.before), []string{"b"})
		if diff := cmp.Diff(test.after, string(after)); err != nil || diff != "" {
			t.Errorf("%s: %v (want -, got +)\n%s", name, err, diff)
		}
	}
	if _, err := Remove([]byte(`{"a": {}}`), []string{"a", "b"}); err == nil || err.Error() != `there is no "a.b"` {
		t.Errorf("removing an absent member: %v", err)
	}
}

func TestInvalidFilesAreRefusedWithLine(t *testing.T) {
	tests := []struct {
		text string
		want Error
	}{
		{"{\n  \"a\": 1\n  \"b\": 2\n}", Error{3, `is not JSON: invalid character '"' after object value (expecting ',' or '}')`}},
		{"{\n  \"a\": s3cret\n}", Error{2, "is not JSON: invalid literal"}},
		{"{\"a\": {}", Error{2, "is not JSON: parsing object after value: unexpected EOF"}},
		{"// list\n[]", Error{2, "is not a JSON object"}},
		{"{\"a\":\n[]}", Error{2, `"a" is not an object`}},
		{"{\"a\": {},\n\"a\": {}}", Error{2, `has a second member "a": remove one of them`}},
		{"{\"\xff\": 1}", Error{1, "the file is not UTF-8"}},
		{"{\"x\":\n" + strings.Repeat("[", 100_000), Error{2, "is nested more than 500 deep"}},
	}
	for _, test := range tests {
		for action, edit := range map[string]func() ([]byte, error){
			"set":    func() ([]byte, error) { return Set([]byte(test.text), []string{"a", "b"}, "x") },
			"remove": func() ([]byte, error) { return Remove([]byte(test.text), []string{"a", "b"}) },
		} {
			after, err := edit()
			if got := (*Error)(nil); !errors.As(err, &got) || *got != test.want || after != nil {
				t.Errorf("%s %.30q: got %v, want %v", action, test.text, err, &test.want)
			}
		}
	}
}

func FuzzEditsKeepOtherValues(f *testing.F) {
	for _, seed := range []string{"", "{}", "{\n \"servers\": {\"a\": [1, {}], // c\n\n }, /* x */ \"z\": null,}", "{\"servers\": {\r\n\"a\": 1,\r\n}}", "\ufeff{\"servers\" : { \"a\":1\n, }}//"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		before, err := Decode([]byte(text))
		if err != nil {
			return
		}
		after, err := Set([]byte(text), []string{"servers", "new name"}, entry)
		if err != nil {
			return
		}
		removed, err := Remove(after, []string{"servers", "new name"})
		if err != nil {
			t.Fatalf("removing the added member: %v\n%q\n%q", err, text, after)
		}
		got, err := Decode(removed)
		servers, _ := before["servers"].(map[string]any)
		if servers == nil {
			before["servers"] = map[string]any{}
		}
		delete(servers, "new name")
		if err != nil || !reflect.DeepEqual(got, before) {
			t.Errorf("removing the added member changed other values: error %v\n%q\n%q", err, text, removed)
		}
	})
}
