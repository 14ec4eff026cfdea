package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// promptParts returns the parts of a list of prompts: one part for each list of keys.
func promptParts(keys ...[]string) []Part {
	parts := make([]Part, len(keys))
	for i, of := range keys {
		parts[i].Plugin = &Plugin{Name: fmt.Sprintf("p%d", i)}
		for _, key := range of {
			parts[i].items = append(parts[i].items, item{key, fmt.Appendf(nil, `{"name":%q}`, key)})
		}
	}
	return parts
}

// numbered returns n keys that consist of prefix and a number.
func numbered(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return keys
}

// readPage reads one page. It returns the names on the page and the cursor of the next page.
func readPage(t *testing.T, parts []Part, cursor string) (names []string, next string) {
	t.Helper()
	var at json.RawMessage
	if cursor != "" {
		at = fmt.Appendf(nil, "%q", cursor)
	}
	raw, err := (&Catalog{}).List(abi.MethodPromptsList).page(parts, at)
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		Prompts    []struct{ Name string }
		NextCursor string
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		t.Fatal(err)
	}
	for _, p := range page.Prompts {
		names = append(names, p.Name)
	}
	return names, page.NextCursor
}

// A plugin that is served alone may replace a server without pagination, whose clients ignore cursors or send unknown ones.
func TestListOfPluginAloneIsWhole(t *testing.T) {
	l := (&Catalog{}).List(abi.MethodPromptsList)
	l.alone = true
	names := numbered("a", 3*pageItems)
	for _, cursor := range []json.RawMessage{nil, json.RawMessage(`"unknown"`)} {
		raw, err := l.page(promptParts(names), cursor)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(raw), `"name"`); n != len(names) || strings.Contains(string(raw), "nextCursor") {
			t.Errorf("cursor %s: the page contains %d items, want all %d and no cursor: %.200s", cursor, n, len(names), raw)
		}
	}
	large := promptParts(numbered("a", 40))
	for i := range large[0].items {
		large[0].items[i].raw = fmt.Appendf(nil, `{"name":"a%d","description":"%s"}`, i, strings.Repeat("x", 1<<20))
	}
	raw, err := l.page(large, nil)
	if err != nil || len(raw) < gateway.MaxWhole || len(raw) > gateway.MaxWhole+2<<20 || !strings.Contains(string(raw), "nextCursor") {
		t.Errorf("the first page of a list of 40 MiB: got %d bytes, %v; want about %d and a cursor", len(raw), err, gateway.MaxWhole)
	}
}

func TestPagesHaveEverythingOnce(t *testing.T) {
	for name, sizes := range map[string][]int{
		"nothing":                     {0},
		"one page":                    {pageItems},
		"one more than a page":        {pageItems + 1},
		"several plugins":             {300, 300, 0, 900},
		"a page that ends a plugin's": {pageItems, pageItems, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var keys [][]string
			for i, n := range sizes {
				keys = append(keys, numbered(fmt.Sprintf("%d-", i), n))
			}
			var got []string
			for names, next := readPage(t, promptParts(keys...), ""); ; names, next = readPage(t, promptParts(keys...), next) {
				if len(names) > pageItems {
					t.Fatalf("a page contains %d items, want at most %d", len(names), pageItems)
				}
				got = append(got, names...)
				if next == "" {
					break
				}
			}
			if want := slices.Concat(keys...); !slices.Equal(got, want) {
				t.Errorf("got %d names, want %d: %.100q", len(got), len(want), got)
			}
		})
	}
}

func TestListMayChangeBetweenPages(t *testing.T) {
	before := numbered("x", pageItems+10)
	without := func(gone ...string) []string {
		return slices.DeleteFunc(slices.Clone(before), func(key string) bool { return slices.Contains(gone, key) })
	}
	rest := before[pageItems:]
	last := before[:pageItems]
	for name, c := range map[string]struct {
		now, want []string
	}{
		"not at all":                             {before, rest},
		"an earlier item goes":                   {without("x3"), rest},
		"the last item of the page goes":         {without(last[pageItems-1]), rest},
		"the last seven items go":                {without(last[pageItems-7:]...), rest},
		"an item comes at the beginning":         {append([]string{"new"}, before...), rest},
		"an item comes at the end":               {append(slices.Clone(before), "new"), append(slices.Clone(rest), "new")},
		"the next item goes":                     {without(rest[0]), rest[1:]},
		"more goes than the cursor remembers":    {without(last[pageItems-8:]...), rest[8:]},
		"everything goes":                        {nil, nil},
		"the first page goes, and the rest stay": {rest, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, next := readPage(t, promptParts(before), "")
			got, _ := readPage(t, promptParts(c.now), next)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPageIsBoundedInBytes(t *testing.T) {
	parts := promptParts(numbered("x", 3))
	for i := range parts[0].items {
		parts[0].items[i].raw = fmt.Appendf(nil, `{"name":"x%d","description":"%s"}`, i, strings.Repeat("x", pageBytes))
	}
	names, next := readPage(t, parts, "")
	if len(names) != 1 || next == "" {
		t.Errorf("got a page of %d items and the cursor %q; want one item and a cursor", len(names), next)
	}
}

func TestForeignCursorIsRefused(t *testing.T) {
	_, good := readPage(t, promptParts(numbered("x", pageItems+1)), "")
	for name, cursor := range map[string]string{
		"is no text":           `5`,
		"is no base64":         `"!"`,
		"is no JSON":           `"AAAA"`,
		"is cut":               fmt.Sprintf("%q", good[:len(good)-3]),
		"is of another list":   fmt.Sprintf("%q", cursor{List: "resources", Plugin: "p0"}),
		"is of another plugin": fmt.Sprintf("%q", cursor{List: "prompts", Plugin: "p9"}),
		"has a negative index": fmt.Sprintf("%q", cursor{List: "prompts", Plugin: "p0", Index: -1}),
		"remembers too much":   fmt.Sprintf("%q", cursor{List: "prompts", Plugin: "p0", Last: numbered("k", maxLast+1)}),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := (&Catalog{}).List(abi.MethodPromptsList).page(promptParts(numbered("x", 2)), json.RawMessage(cursor))
			if own, ok := err.(*abi.Error); !ok || own.Code != abi.CodeInvalidParams {
				t.Errorf("got %v", err)
			}
		})
	}
}
