package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const inputSchema = `{"type":"object","properties":{
	"text":{"type":"string"}, "count":{"type":"integer"}, "share":{"type":"number"}, "on":{"type":"boolean"}, "list":{"type":"array"},
	"either":{"type":["integer","string"]}, "maybe":{"type":["integer","null"]}, "any":{}, "odd":{"type":7},
	"sure":{"const":true}, "level":{"enum":[1,2]}, "mode":{"enum":["fast",0]},
	"kinds":{"anyOf":[{"type":"array"},{"type":"null"}]}, "version":{"oneOf":[{"type":"null"},{"type":"string"}]}, "free":{"anyOf":[{"type":"integer"},{}]}}}`

func TestReadArguments(t *testing.T) {
	for name, c := range map[string]struct {
		stdin        string
		given, pairs []string
		want         string
	}{
		"none":                          {want: `{}`},
		"an object on the command line": {given: []string{`{"text":"a"}`}, want: `{"text":"a"}`},
		"an object, byte for byte":      {given: []string{" {\"count\": 9007199254740993, \"b\":[ ] }\n"}, want: `{"count": 9007199254740993, "b":[ ] }`},
		"an object on stdin":            {stdin: "{\"text\":\"a\"}\n", given: []string{"-"}, want: `{"text":"a"}`},
		"pairs":                         {pairs: []string{"text=a", "count=3"}, want: `{"count":3,"text":"a"}`},
		"pairs merged with an object":   {given: []string{`{"text":"a","on":true}`}, pairs: []string{"count=3"}, want: `{"count":3,"on":true,"text":"a"}`},
		"a pair overrides the object":   {given: []string{`{"count":1}`}, pairs: []string{"count=3"}, want: `{"count":3}`},
		"the last pair of a name wins":  {pairs: []string{"count=1", "count=2"}, want: `{"count":2}`},
		"pairs merged with stdin":       {stdin: `{"text":"a"}`, given: []string{"-"}, pairs: []string{"on=false"}, want: `{"on":false,"text":"a"}`},
		"number as a string":            {pairs: []string{"text=3"}, want: `{"text":"3"}`},
		"JSON as a string":              {pairs: []string{`text={"a":1}`}, want: `{"text":"{\"a\":1}"}`},
		"an empty string":               {pairs: []string{"text="}, want: `{"text":""}`},
		"a string with an equals sign":  {pairs: []string{"text=a=b"}, want: `{"text":"a=b"}`},
		"string or integer":             {pairs: []string{"either=3"}, want: `{"either":"3"}`},
		"any type":                      {pairs: []string{"any=3"}, want: `{"any":"3"}`},
		"an unknown name":               {pairs: []string{"more=3"}, want: `{"more":"3"}`},
		"an invalid type in the schema": {pairs: []string{"odd=3"}, want: `{"odd":"3"}`},
		"an integer beyond 2^53":        {pairs: []string{"count=9007199254740993"}, want: `{"count":9007199254740993}`},
		"a number":                      {pairs: []string{"share=0.5"}, want: `{"share":0.5}`},
		"an array":                      {pairs: []string{`list=["a", 1]`}, want: `{"list":["a",1]}`},
		"a const":                       {pairs: []string{"sure=true"}, want: `{"sure":true}`},
		"an enum of integers":           {pairs: []string{"level=2"}, want: `{"level":2}`},
		"an enum with a string":         {pairs: []string{"mode=fast"}, want: `{"mode":"fast"}`},
		"null":                          {pairs: []string{"maybe=null"}, want: `{"maybe":null}`},
		"an alternative that is null":   {pairs: []string{"kinds=null"}, want: `{"kinds":null}`},
		"an alternative that is a list": {pairs: []string{`kinds=["a"]`}, want: `{"kinds":["a"]}`},
		"an alternative that is string": {pairs: []string{"version=2"}, want: `{"version":"2"}`},
		"an alternative of any type":    {pairs: []string{"free=2"}, want: `{"free":"2"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readArguments(strings.NewReader(c.stdin), c.given, c.pairs, json.RawMessage(inputSchema))
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestReadArgumentsRefuses(t *testing.T) {
	const object = `arguments must be one JSON object, such as '{"id": "a"}': `
	for name, c := range map[string]struct {
		stdin        io.Reader
		given, pairs []string
		want         string
	}{
		"invalid JSON":                     {given: []string{`{"a"`}, want: object + "unexpected end of JSON input"},
		"an empty string":                  {given: []string{""}, want: object},
		"two objects":                      {given: []string{`{} {}`}, want: object},
		"an array":                         {given: []string{`[1]`}, want: object + "the value is a JSON array"},
		"a string":                         {given: []string{`"a"`}, want: object + "the value is a JSON string"},
		"null":                             {given: []string{`null`}, want: object + "the value is null"},
		"invalid JSON on stdin":            {stdin: strings.NewReader("id: a"), given: []string{"-"}, want: object},
		"a read error on stdin":            {stdin: iotest.ErrReader(errors.New("broken")), given: []string{"-"}, want: "cannot read arguments from stdin: broken"},
		"an object that exceeds a message": {stdin: io.LimitReader(spaces{}, maxArguments+1), given: []string{"-"}, want: "arguments from stdin exceed 16 MiB"},
		"a pair without a value":           {pairs: []string{"text"}, want: "--arg text: write name=value"},
		"a pair without a name":            {pairs: []string{"=a"}, want: "--arg =a: write name=value"},
		"a pair of the wrong type":         {pairs: []string{"count=many"}, want: `--arg count: "many" is not JSON, and the tool expects integer`},
		"a pair of neither type":           {pairs: []string{"maybe=many"}, want: `--arg maybe: "many" is not JSON, and the tool expects integer or null`},
		"a pair of no alternative":         {pairs: []string{"kinds=many"}, want: `--arg kinds: "many" is not JSON, and the tool expects array or null`},
		"an empty value of a boolean":      {pairs: []string{"on="}, want: `--arg on: "" is not JSON, and the tool expects boolean`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readArguments(c.stdin, c.given, c.pairs, json.RawMessage(inputSchema))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || got != nil {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

// spaces is an endless stream of spaces.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte(" "), len(p))), nil }

// FuzzArguments checks that the result is one JSON object that contains the given pair, or an error with a message.
func FuzzArguments(f *testing.F) {
	for _, seed := range [][3]string{
		{`{"a":1}`, "text=x", inputSchema}, {`{}`, "count=1e400", inputSchema}, {`null`, "a=b", `{}`}, {"{\"\xff\":1}", "\xff=\xff", `{"properties":7}`},
		{`{"text":{}}`, "text=\u2028", `{"properties":{"text":{"type":[]}}}`}, {`{"a":1,"a":2}`, "=", ``}, {` `, `list=[`, inputSchema},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, given, pair, schema string) {
		got, err := readArguments(strings.NewReader("{}"), []string{given}, []string{pair}, json.RawMessage(schema))
		if err != nil {
			if got != nil || err.Error() == "" {
				t.Fatalf("got %s and %v", got, err)
			}
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(got, &object); err != nil || object == nil {
			t.Fatalf("got %s: %v", got, err)
		}
		name, _, _ := strings.Cut(pair, "=")
		if _, ok := object[strings.ToValidUTF8(name, "\uFFFD")]; !ok && strings.ToValidUTF8(name, "") == name {
			t.Fatalf("%s is not in %s", name, got)
		}
	})
}
