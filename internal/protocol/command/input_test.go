package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// grep uses each kind of item.
var grep = Tool{
	Args: []Item{
		{Literal: "--color=never"},
		{Arg: "fixed", Type: Boolean, Flag: "-F"},
		{Arg: "case", Type: String, Choose: map[string][]string{"ignore": {"-i"}, "both": {"-i", "-s"}, "none": nil}},
		{Arg: "context", Type: Integer, Flag: "--context=", Dash: true},
		{Arg: "ratio", Type: Number, Flag: "--ratio"},
		{Arg: "globs", Type: String, Flag: "-g"},
		{Arg: "any", Type: String, Flag: "--any", Dash: true},
		{Arg: "first", Type: String},
		{Literal: "--"},
		{Arg: "paths", Type: String, Dash: true, Default: json.RawMessage(`["."]`)},
	},
	Stdin: &Item{Arg: "text"},
}

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		arguments string
		want      []string
		stdin     string
	}{
		"nothing":                          {``, []string{"--color=never", "--", "."}, ""},
		"absent, null and false":           {`{"fixed":false,"first":null,"context":null}`, []string{"--color=never", "--", "."}, ""},
		"spaces, quotes, non-ASCII":        {`{"first":"a b \"c\" 'd' $(x) é😀\n"}`, []string{"--color=never", "a b \"c\" 'd' $(x) é😀\n", "--", "."}, ""},
		"empty string":                     {`{"first":"","paths":[""]}`, []string{"--color=never", "", "--", ""}, ""},
		"boolean":                          {`{"fixed":true}`, []string{"--color=never", "-F", "--", "."}, ""},
		"chosen words":                     {`{"case":"both"}`, []string{"--color=never", "-i", "-s", "--", "."}, ""},
		"no words":                         {`{"case":"none"}`, []string{"--color=never", "--", "."}, ""},
		"integer":                          {`{"context":3}`, []string{"--color=never", "--context=3", "--", "."}, ""},
		"integers that are not in digits":  {`{"context":-2.0}`, []string{"--color=never", "--context=-2", "--", "."}, ""},
		"exponent":                         {`{"context":1e2}`, []string{"--color=never", "--context=100", "--", "."}, ""},
		"number as the client wrote it":    {`{"ratio":1.50}`, []string{"--color=never", "--ratio", "1.50", "--", "."}, ""},
		"array repeats the flag":           {`{"globs":["a","b c"]}`, []string{"--color=never", "-g", "a", "-g", "b c", "--", "."}, ""},
		"empty array is not the default":   {`{"globs":[],"paths":[]}`, []string{"--color=never", "--"}, ""},
		"dash after --":                    {`{"paths":["-rf","--"]}`, []string{"--color=never", "--", "-rf", "--"}, ""},
		"dash joined":                      {`{"context":-1}`, []string{"--color=never", "--context=-1", "--", "."}, ""},
		"dash that the item allows":        {`{"any":"-x"}`, []string{"--color=never", "--any", "-x", "--", "."}, ""},
		"stdin":                            {`{"text":"a\u0000\né"}`, []string{"--color=never", "--", "."}, "a\x00\né"},
		"object as stdin":                  {`{"text":{"a":[1, 2]}}`, []string{"--color=never", "--", "."}, `{"a":[1, 2]}`},
		"null as stdin":                    {`{"text":null}`, []string{"--color=never", "--", "."}, ""},
		"properties that no item uses":     {`{"other":"x","Arg":"y","":"z"}`, []string{"--color=never", "--", "."}, ""},
		"the last of duplicates":           {`{"first":"a","first":"b"}`, []string{"--color=never", "b", "--", "."}, ""},
		"half of a surrogate pair":         {`{"first":"\ud800"}`, []string{"--color=never", "\uFFFD", "--", "."}, ""},
		"dash that is not in the encoding": {`{"globs":["\u002e"]}`, []string{"--color=never", "-g", ".", "--", "."}, ""},
	} {
		run, err := grep.input(json.RawMessage(c.arguments))
		if err != nil || !slices.Equal(run.Args, c.want) || string(run.Stdin) != c.stdin {
			t.Errorf("%s: got %q with stdin %q and the error %v, want %q with stdin %q", name, run.Args, run.Stdin, err, c.want, c.stdin)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for name, c := range map[string]struct{ arguments, want string }{
		"dash":                  {`{"first":"-rf"}`, `the argument "first" has the value "-rf". It begins with "-", and the program could take it for an option`},
		"escaped dash":          {`{"first":"\u002drf"}`, `begins with "-"`},
		"only a dash":           {`{"first":"-"}`, `begins with "-"`},
		"dash after a flag":     {`{"globs":["a","--pre=sh"]}`, `the argument "globs" has the value "--pre=sh"`},
		"negative number":       {`{"ratio":-1}`, `the argument "ratio" has the value "-1"`},
		"NUL":                   {`{"first":"a\u0000b"}`, `the argument "first" has a NUL character`},
		"NUL after --":          {`{"paths":["\u0000"]}`, "NUL"},
		"unknown choice":        {`{"case":"\"x"}`, `the argument "case" has the value "\"x", which the tool does not know`},
		"number as a string":    {`{"first":1}`, `the argument "first" is not of the type string`},
		"string as an integer":  {`{"context":"1"}`, "not of the type integer"},
		"string as a boolean":   {`{"fixed":"true"}`, "not of the type boolean"},
		"fraction as integer":   {`{"context":1.5}`, "not an integer in digits"},
		"integer out of range":  {`{"context":1e400}`, "not an integer in digits"},
		"object":                {`{"first":{}}`, "not of the type string"},
		"array in an array":     {`{"globs":[["a"]]}`, "not of the type string"},
		"null in an array":      {`{"globs":[null]}`, "not of the type string"},
		"long value":            {`{"first":"-` + strings.Repeat("é", 1000) + `"}`, strings.Repeat("é", 39) + `…"`},
		"too many words":        {`{"paths":[` + strings.Repeat(`"",`, maxWords) + `""]}`, "too long"},
		"too many bytes":        {`{"first":"` + strings.Repeat("a", maxBytes) + `"}`, "too long"},
		"chosen words too many": {`{"globs":[` + strings.Repeat(`"a",`, maxWords) + `"a"]}`, "too long"},
	} {
		run, err := grep.input(json.RawMessage(c.arguments))
		if err == nil || !strings.Contains(err.Error(), c.want) || run.Args != nil {
			t.Errorf("%s: got %q and the error %v, want %q", name, run.Args, err, c.want)
		}
	}
}

func TestToolsRun(t *testing.T) {
	tools := Tools{"grep": grep, "other": {Args: []Item{{Literal: "x"}}}}
	if _, run, refusal := tools.Input(json.RawMessage(`{"arguments":{"first":"a"},"name":"grep","_meta":{"name":"other"}}`)); refusal != nil || !slices.Contains(run.Args, "a") {
		t.Errorf("got %q and the refusal %s", run.Args, refusal)
	}
	if _, run, refusal := tools.Input(json.RawMessage(`{"name":"other"}`)); refusal != nil || !slices.Equal(run.Args, []string{"x"}) {
		t.Errorf("got %q and the refusal %s", run.Args, refusal)
	}
	_, _, refusal := tools.Input(json.RawMessage(`{"name":"Grep"}`))
	if want := `{"error":{"code":-32602,"message":"unknown tool"}}`; string(refusal) != want {
		t.Errorf("got %s, want %s", refusal, want)
	}
	_, _, refusal = tools.Input(json.RawMessage(`{"name":"grep","arguments":{"first":"-x"}}`))
	if !strings.Contains(string(refusal), `"isError":true`) || !json.Valid(refusal) {
		t.Errorf("got %s, want a result that is an error", refusal)
	}
	if got, want := string(tools.Describe()), `{"result":{"tools":["grep","other"],"prompts":false,"resources":false,"completions":false}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzRun checks that no value becomes an option, and that runs are bounded.
func FuzzRun(f *testing.F) {
	for _, seed := range []string{`{}`, `{"first":"-x","globs":["-y"],"paths":["-z"]}`, `{"case":"both","context":-1e1,"text":{"a":1}}`, `{"first":"\u002d\u0000"}`, `["a"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, arguments []byte) {
		if !json.Valid(arguments) {
			return // the host has validated the parameters
		}
		run, err := grep.input(arguments)
		if err != nil {
			return
		}
		if len(run.Args) > maxWords {
			t.Fatalf("%d words", len(run.Args))
		}
		end := slices.Index(run.Args, "--")
		for i, word := range run.Args {
			if strings.ContainsRune(word, 0) {
				t.Fatalf("the word %q has a NUL", word)
			}
			if i >= end || !strings.HasPrefix(word, "-") {
				continue
			}
			afterAny := i > 0 && run.Args[i-1] == "--any"
			if !afterAny && !slices.Contains([]string{"--color=never", "-F", "-i", "-s", "--ratio", "-g", "--any"}, word) && !strings.HasPrefix(word, "--context=") {
				t.Fatalf("the value %q became an option in %q", word, run.Args)
			}
		}
	})
}

func ExampleTools_Input() {
	tools := Tools{"count": {Args: []Item{{Literal: "-l"}, {Literal: "--"}, {Arg: "file", Type: String, Dash: true}}}}
	_, run, _ := tools.Input(json.RawMessage(`{"name":"count","arguments":{"file":"-a b.txt"}}`))
	fmt.Printf("%q\n", run.Args)
	// Output: ["-l" "--" "-a b.txt"]
}
