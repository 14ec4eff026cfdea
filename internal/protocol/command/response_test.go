package command

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestResponse(t *testing.T) {
	structured, lined, found := Tool{Stdout: JSON}, Tool{Stdout: Lines}, Tool{Success: []uint32{0, 1}}
	for name, c := range map[string]struct {
		tool   Tool
		output Output
		want   string
	}{
		"text":                {Tool{}, Output{Stdout: []byte("a \"b\"\né\n")}, `{"content":[{"type":"text","text":"a \"b\"\né\n"}]}`},
		"text and warnings":   {Tool{}, Output{Stdout: []byte("a"), Stderr: []byte("careful")}, `{"content":[{"type":"text","text":"a"}]}`},
		"not UTF-8":           {Tool{}, Output{Stdout: []byte("a\xff\x00b")}, `{"content":[{"type":"text","text":"a\ufffd\u0000b"}]}`},
		"nothing":             {Tool{}, Output{}, `{"content":[{"type":"text","text":"the program printed nothing"}]}`},
		"nothing, success":    {found, Output{Exit: 1}, `{"content":[{"type":"text","text":"the program printed nothing, and exited with code 1"}]}`},
		"success 1":           {found, Output{Exit: 1, Stdout: []byte("a")}, `{"content":[{"type":"text","text":"a"}]}`},
		"0 is not listed":     {Tool{Success: []uint32{3}}, Output{}, `{"content":[{"type":"text","text":"the program exited with code 0"}],"isError":true}`},
		"failure":             {Tool{}, Output{Exit: 2, Stderr: []byte("\nno file\n\n")}, `{"content":[{"type":"text","text":"the program exited with code 2:\nno file"}],"isError":true}`},
		"failure with stdout": {Tool{}, Output{Exit: 1, Stdout: []byte("x")}, `{"content":[{"type":"text","text":"the program exited with code 1"},{"type":"text","text":"x"}],"isError":true}`},
		"JSON object":         {structured, Output{Stdout: []byte("{\"a\": 1,\n \"b\": \"\\u00e9\"}\n")}, `{"content":[{"type":"text","text":"{\"a\":1,\"b\":\"\\u00e9\"}"}],"structuredContent":{"a":1,"b":"\u00e9"}}`},
		"JSON array":          {structured, Output{Stdout: []byte("[1, 2]")}, `{"content":[{"type":"text","text":"{\"result\":[1,2]}"}],"structuredContent":{"result":[1,2]}}`},
		"no JSON":             {structured, Output{Stdout: []byte("oops"), Stderr: []byte("why")}, `{"content":[{"type":"text","text":"the program printed something that is not JSON: invalid character 'o' looking for beginning of value\nwhy"}],"isError":true}`},
		"empty JSON":          {structured, Output{Stdout: []byte(" \n")}, `{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}`},
		"two JSON values":     {structured, Output{Stdout: []byte("1 2")}, `{"content":[{"type":"text","text":"the program printed something that is not JSON: invalid character '2' after top-level value"}],"isError":true}`},
		"failure, JSON":       {structured, Output{Exit: 1, Stdout: []byte("{}")}, `{"content":[{"type":"text","text":"the program exited with code 1"},{"type":"text","text":"{}"}],"isError":true}`},
		"lines":               {lined, Output{Stdout: []byte("{\"a\": 1}\n\n2\r\n[ ]")}, `{"content":[{"type":"text","text":"{\"result\":[{\"a\":1},2,[]]}"}],"structuredContent":{"result":[{"a":1},2,[]]}}`},
		"no lines":            {lined, Output{}, `{"content":[{"type":"text","text":"{\"result\":[]}"}],"structuredContent":{"result":[]}}`},
		"a bad line":          {lined, Output{Stdout: []byte("1\n}\n")}, `{"content":[{"type":"text","text":"the program printed something that is not JSON in line 2: invalid character '}' looking for beginning of value"}],"isError":true}`},
	} {
		got := string(c.tool.Response(c.output, math.MaxInt64))
		var a, b any
		if err := json.Unmarshal([]byte(got), &a); err != nil {
			t.Fatalf("%s: %s: %v", name, got, err)
		}
		if err := json.Unmarshal([]byte(`{"result":`+c.want+`}`), &b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if x, y := encoded(a), encoded(b); x != y {
			t.Errorf("%s:\ngot  %s\nwant %s", name, x, y)
		}
	}
}

func encoded(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func TestResponseIsBounded(t *testing.T) {
	for _, stdout := range []string{strings.Repeat("a", 200<<10), strings.Repeat("\x01", 50<<10), "[" + strings.Repeat(`"\"",`, 50<<10) + "0]"} {
		for _, tool := range []Tool{{}, {Stdout: JSON}, {Stdout: Lines}} {
			whole := tool.Response(Output{Stdout: []byte(stdout)}, math.MaxInt64)
			size := int64(len(whole))
			if got := tool.Response(Output{Stdout: []byte(stdout)}, size); string(got) != string(whole) {
				t.Errorf("%q: a response of %d bytes is refused with the same limit", tool.Stdout, size)
			}
			if got := tool.Response(Output{Stdout: []byte(stdout)}, size-1); got != nil {
				t.Errorf("%q: got %d bytes with the limit %d", tool.Stdout, len(got), size-1)
			}
		}
	}
}

func TestLongTextIsWhole(t *testing.T) {
	text := "a" + strings.Repeat("é😀", 50<<10) // the parts that are encoded at a time do not begin with a character
	var r struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal((Tool{}).Response(Output{Stdout: []byte(text)}, math.MaxInt64), &r); err != nil || len(r.Result.Content) != 1 || r.Result.Content[0].Text != text {
		t.Errorf("the text differs, or the error %v", err)
	}
}

// FuzzResponse checks that responses are valid JSON, have one line, and keep within the limit.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("{\"a\":\n1}"), []byte("x"), uint32(0), int64(1000))
	f.Add([]byte("\xff\x00é"), []byte("\xff"), uint32(1), int64(60))
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, exit uint32, limit int64) {
		for _, tool := range []Tool{{}, {Stdout: JSON}, {Stdout: Lines, Success: []uint32{0, 1}}} {
			got := tool.Response(Output{stdout, stderr, exit}, limit)
			if got == nil {
				continue
			}
			var r struct {
				Result struct {
					Content []struct{ Type, Text string }
				}
			}
			if err := json.Unmarshal(got, &r); err != nil || len(r.Result.Content) == 0 || int64(len(got)) > limit || strings.Contains(string(got), "\n") {
				t.Fatalf("%q: %v: %s", tool.Stdout, err, got)
			}
		}
	})
}
