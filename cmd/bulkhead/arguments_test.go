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
	"sure":{"const":true}, "level":{"enum":[1,2]}, "mode":{"enum":["fast",0]}}}`

func TestArgumentsAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		stdin        string
		given, pairs []string
		want         string
	}{
		"as none":                             {want: `{}`},
		"from the command line":               {given: []string{`{"text":"a"}`}, want: `{"text":"a"}`},
		"with their own bytes":                {given: []string{" {\"count\": 9007199254740993, \"b\":[ ] }\n"}, want: `{"count": 9007199254740993, "b":[ ] }`},
		"from stdin":                          {stdin: "{\"text\":\"a\"}\n", given: []string{"-"}, want: `{"text":"a"}`},
		"from pairs":                          {pairs: []string{"text=a", "count=3"}, want: `{"count":3,"text":"a"}`},
		"from pairs beside an object":         {given: []string{`{"text":"a","on":true}`}, pairs: []string{"count=3"}, want: `{"count":3,"on":true,"text":"a"}`},
		"from pairs first of all":             {given: []string{`{"count":1}`}, pairs: []string{"count=3"}, want: `{"count":3}`},
		"from the last pair of a name":        {pairs: []string{"count=1", "count=2"}, want: `{"count":2}`},
		"from pairs beside stdin":             {stdin: `{"text":"a"}`, given: []string{"-"}, pairs: []string{"on=false"}, want: `{"on":false,"text":"a"}`},
		"as a string where one is wanted":     {pairs: []string{"text=3"}, want: `{"text":"3"}`},
		"as a string that looks like JSON":    {pairs: []string{`text={"a":1}`}, want: `{"text":"{\"a\":1}"}`},
		"as an empty string":                  {pairs: []string{"text="}, want: `{"text":""}`},
		"as a string with an equals sign":     {pairs: []string{"text=a=b"}, want: `{"text":"a=b"}`},
		"as a string where one will do":       {pairs: []string{"either=3"}, want: `{"either":"3"}`},
		"as a string where all will do":       {pairs: []string{"any=3"}, want: `{"any":"3"}`},
		"as a string for an unknown name":     {pairs: []string{"more=3"}, want: `{"more":"3"}`},
		"as a string for a strange type":      {pairs: []string{"odd=3"}, want: `{"odd":"3"}`},
		"as a large integer, digit by digit":  {pairs: []string{"count=9007199254740993"}, want: `{"count":9007199254740993}`},
		"as a number":                         {pairs: []string{"share=0.5"}, want: `{"share":0.5}`},
		"as a list":                           {pairs: []string{`list=["a", 1]`}, want: `{"list":["a",1]}`},
		"as the one value that there is":      {pairs: []string{"sure=true"}, want: `{"sure":true}`},
		"as one of the values that there are": {pairs: []string{"level=2"}, want: `{"level":2}`},
		"as a string where a value is one":    {pairs: []string{"mode=fast"}, want: `{"mode":"fast"}`},
		"as null":                             {pairs: []string{"maybe=null"}, want: `{"maybe":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readArguments(strings.NewReader(c.stdin), c.given, c.pairs, json.RawMessage(inputSchema))
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestArgumentsAreRefused(t *testing.T) {
	const object = `arguments have to be one JSON object, such as '{"id": "a"}': `
	for name, c := range map[string]struct {
		stdin        io.Reader
		given, pairs []string
		want         string
	}{
		"that are no JSON":                  {given: []string{`{"a"`}, want: object + "unexpected end of JSON input"},
		"that are empty":                    {given: []string{""}, want: object},
		"that are two objects":              {given: []string{`{} {}`}, want: object},
		"that are a list":                   {given: []string{`[1]`}, want: object + "this is a JSON array"},
		"that are a string":                 {given: []string{`"a"`}, want: object + "this is a JSON string"},
		"that are null":                     {given: []string{`null`}, want: object + "this is null"},
		"that are no JSON, from stdin":      {stdin: strings.NewReader("id: a"), given: []string{"-"}, want: object},
		"that stdin breaks off":             {stdin: iotest.ErrReader(errors.New("broken")), given: []string{"-"}, want: "read arguments from stdin: broken"},
		"that are longer than a message":    {stdin: io.LimitReader(spaces{}, maxArguments+1), given: []string{"-"}, want: "arguments from stdin are longer than 16 MiB"},
		"in a pair without a value":         {pairs: []string{"text"}, want: "--arg text: write name=value"},
		"in a pair without a name":          {pairs: []string{"=a"}, want: "--arg =a: write name=value"},
		"in a pair that is not of its type": {pairs: []string{"count=many"}, want: `--arg count: "many" is not JSON, and the tool wants integer`},
		"in a pair of neither type":         {pairs: []string{"maybe=many"}, want: `--arg maybe: "many" is not JSON, and the tool wants integer or null`},
		"in an empty pair that needs one":   {pairs: []string{"on="}, want: `--arg on: "" is not JSON, and the tool wants boolean`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readArguments(c.stdin, c.given, c.pairs, json.RawMessage(inputSchema))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || got != nil {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

// spaces never end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte(" "), len(p))), nil }

// FuzzArguments: what is accepted is one JSON object that has the pair; what is not says why.
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
