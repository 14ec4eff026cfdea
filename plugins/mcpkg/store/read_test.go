package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

func FuzzParseEntry(f *testing.F) {
	f.Add(entry{number: 1, kind: item.Prompt, name: key("a")}.fileName())
	f.Add(entry{number: maxNumber, kind: item.Resource, name: key("a"), uri: key("b")}.fileName())
	f.Add("0000000001-prompt-.item")
	f.Add("+000000001-resource--.item")
	f.Fuzz(func(t *testing.T, file string) {
		e, ok := parseEntry(file)
		if ok && e.fileName() != file {
			t.Errorf("%q is read as %q", file, e.fileName())
		}
	})
}

func FuzzReadItem(f *testing.F) {
	d := item.Draft{Item: item.Item{Kind: item.Resource, Name: "n", URI: "a:n", MIMEType: "x/y"}, Content: item.Content{Bytes: []byte("x"), Binary: true}}
	line, err := newHeader(d, now(), now()).line(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(line, 'x'))
	f.Add(append(line, 'x', 'y'))
	f.Add([]byte(`{"format":1,"name":"n","uri":"a:n","content":"text","size":1,"more":[{}]}` + "\nx"))
	f.Add([]byte(`{"format":1,"FORMAT":2}` + "\n"))
	f.Add([]byte{})
	p := Open("nowhere", "default", "demo", func(string) {})
	e := entry{number: 1, kind: item.Resource, name: key("n"), uri: key("a:n")}
	parse := func(raw []byte) (Stored, []byte, error) {
		return p.parseWhole(e, bufio.NewReader(bytes.NewReader(raw)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, content, err := parse(raw)
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
				t.Errorf("got %v", err)
			}
			return
		}
		first, body, _ := bytes.Cut(raw, []byte("\n"))
		if s.Name != "n" || s.URI != "a:n" || len(content) == 0 || !bytes.Equal(body, content) {
			t.Errorf("%q is read as %+v with %q", raw, s, content)
		}
		unknown, err := unknownKeys(first)
		must(t, err)
		line, err := newHeader(item.Draft{Item: s.Item, Content: item.Content{Bytes: content, Binary: s.Binary}}, s.created, now()).line(unknown)
		must(t, err)
		again, same, err := parse(append(line, content...))
		if err != nil || again != s || !bytes.Equal(same, content) {
			t.Errorf("after writing the item again, it is %+v with content %q, %v", again, same, err)
		}
	})
}

func indexOf(entries ...entry) *index {
	ix := &index{claimed: map[claim]entry{}}
	for _, e := range entries {
		ix.add(e)
	}
	return ix
}

func TestThousandItems(t *testing.T) {
	p := openStore(t, t.TempDir())
	must(t, p.ensure())
	for i := range 1000 {
		d := resource(t, fmt.Sprint(i), strings.Repeat("x", 10_000))
		e, err := indexOf(entry{number: uint64(i)}).place(d.Item)
		must(t, err)
		line, err := newHeader(d, now(), now()).line(nil)
		must(t, err)
		must(t, os.WriteFile(p.itemPath(e), append(line, d.Content.Bytes...), 0o600))
	}
	fastest := time.Hour
	for range 5 {
		begin := time.Now()
		list, err := p.List(item.Resource)
		if err != nil || len(list) != 1000 || list[999].Name != "999" {
			t.Fatalf("List returned %d items, %v", len(list), err)
		}
		fastest = min(fastest, time.Since(begin))
	}
	t.Logf("native code lists the items in %v", fastest)
	if fastest > 100*time.Millisecond {
		t.Errorf("the list took %v", fastest)
	}
}
