package cutjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestCutKeepsWhatFits(t *testing.T) {
	t.Parallel()
	items := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"id":%d,"name":"item %d"}`, i, i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	for name, test := range map[string]struct {
		value string
		max   int
		want  string
		lacks string
	}{
		"small":             {` {"a": 1} `, 64, `{"a": 1}`, "null"},
		"a string":          {`"` + strings.Repeat("é", 100) + `"`, 100, `"` + strings.Repeat("é", 25) + `… (75 more characters)"`, `[{"path":"","kept":25,"of":100}]`},
		"an array":          {items(100), 130, `[{"id":0,"name":"item 0"},{"id":1,"name":"item 1"},{"id":2,"name":"item 2"},"… 97 more items"]`, `[{"path":"","kept":3,"of":100}]`},
		"a large member":    {`{"n":1,"items":` + items(100) + `,"m":2}`, 140, `{"n":1,"items":[{"id":0,"name":"item 0"},{"id":1,"name":"item 1"},"… 98 more items"],"m":2}`, `[{"path":"/items","kept":2,"of":100}]`},
		"an escaped path":   {`{"a/b~":"` + strings.Repeat("x", 200) + `"}`, 90, `{"a/b~":"` + strings.Repeat("x", 30) + `… (170 more characters)"}`, `[{"path":"/a~1b~0","kept":30,"of":200}]`},
		"escapes":           {`"` + strings.Repeat(`\u0001\n`, 40) + `"`, 90, `"` + strings.Repeat(`\u0001\n`, 5) + `… (70 more characters)"`, `[{"path":"","kept":10,"of":80}]`},
		"a number":          {strings.Repeat("1", 100), 64, "null", "null"},
		"the only big item": {`["` + strings.Repeat("x", 200) + `"]`, 90, `["` + strings.Repeat("x", 37) + `… (163 more characters)"]`, `[{"path":"/0","kept":37,"of":200}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, missing := Cut([]byte(test.value), test.max)
			lacks, _ := json.Marshal(missing)
			if string(got) != test.want || string(lacks) != test.lacks || len(got) > test.max {
				t.Errorf("got %d bytes %s, %s; want %s, %s", len(got), got, lacks, test.want, test.lacks)
			}
		})
	}
}

func TestCutBoundsListOfMissing(t *testing.T) {
	t.Parallel()
	var members []string
	for i := range 100 {
		members = append(members, fmt.Sprintf(`"%d%s":"%s"`, i, strings.Repeat("k", 1000), strings.Repeat("x", 1000)))
	}
	got, missing := Cut([]byte("{"+strings.Join(members, ",")+"}"), 150_000)
	if len(missing) > maxMissing || len(missing) < maxMissing-1 || !json.Valid(got) || len(got) > 150_000 {
		t.Errorf("%d entries, %d bytes", len(missing), len(got))
	}
	for _, m := range missing {
		if len(m.Path) > maxPath+len("…") {
			t.Errorf("a path has %d bytes", len(m.Path))
		}
	}
}

func FuzzCutIsValidJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":"ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"}],"d":null}`), 70)
	f.Add([]byte(`[[[[[[[[["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]]]]]]]]]`), 64)
	f.Add([]byte(`{"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk":1}`), 64)
	f.Add([]byte(`"\ud800\ud800\ud800\ud800\ud800\ud800\ud800\ud800\ud800\ud800\ud800\ud800\ud800\ud800\ud800\ud800"`), 64)
	f.Add([]byte("\"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\""), 64)
	f.Fuzz(func(t *testing.T, value []byte, max int) {
		if !json.Valid(value) {
			return
		}
		max = Least + max&0xfff
		got, missing := Cut(value, max)
		if !json.Valid(got) || len(got) > max {
			t.Fatalf("%d bytes of at most %d: %q", len(got), max, got)
		}
		again, more := Cut(got, max)
		if string(again) != string(got) || more != nil {
			t.Fatalf("cut again: %q is not %q", again, got)
		}
		for _, m := range missing {
			if m.Kept > m.Of {
				t.Fatalf("%+v", m)
			}
		}
	})
}
