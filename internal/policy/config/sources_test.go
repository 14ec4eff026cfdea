package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

const (
	adaKey   = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
	graceKey = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO4"
)

func keyOf(t *testing.T, text string) signature.Key {
	t.Helper()
	key, err := signature.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

const someSources = `
[sources]
catalogues = [
    { from = "https://plugins.example/catalogue.toml", key = "` + adaKey + `" },
    { from = "team/catalogue.toml", key = "` + graceKey + `" },
]
keys = { "acme-*" = ["` + adaKey + `"], acme-pay = ["` + graceKey + `", "` + adaKey + `"], "*" = [] }
`

func TestSources(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bulkhead.toml")
	c, ps := config.Parse(file, []byte(someSources))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	ceiling, ps := config.ParseCeiling(file, []byte(someSources))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	ada, grace := keyOf(t, adaKey), keyOf(t, graceKey)
	want := config.Sources{
		Catalogues: []config.Catalogue{
			{From: "https://plugins.example/catalogue.toml", Key: ada, File: file, Line: 4, Name: "sources.catalogues[0]"},
			{From: filepath.Join(filepath.Dir(file), "team", "catalogue.toml"), Key: grace, File: file, Line: 5, Name: "sources.catalogues[1]"},
		},
		Keys: []config.PinnedKeys{
			{Names: "acme-*", Keys: []signature.Key{ada}, File: file, Line: 7},
			{Names: "acme-pay", Keys: []signature.Key{grace, ada}, File: file, Line: 7},
			{Names: "*", File: file, Line: 7},
		},
	}
	for name, got := range map[string]config.Sources{"config": c.Sources, "ceiling": ceiling.Sources} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if at := want.Catalogues[1].At(); at != "sources.catalogues[1] ("+file+":5)" {
		t.Error(at)
	}
}

// TestMostSpecificNameSpaceDecides compares each pair of name spaces in both orders.
func TestMostSpecificNameSpaceDecides(t *testing.T) {
	ada, grace, none := keyOf(t, adaKey), keyOf(t, graceKey), signature.Key{}
	spaces := []config.PinnedKeys{{Names: "*"}, {Names: "acme-*", Keys: []signature.Key{ada}}, {Names: "acme-p*", Keys: []signature.Key{grace}}, {Names: "acme-p", Keys: []signature.Key{ada, grace}}}
	for name, want := range map[string]string{"notes": "*", "acme": "*", "acme-": "acme-*", "acme-x": "acme-*", "acme-p": "acme-p", "acme-pay": "acme-p*"} {
		for range spaces {
			spaces = append(spaces[1:], spaces[0])
			if got := (config.Sources{Keys: spaces}).KeysOf(name); got == nil || got.Names != want {
				t.Errorf("%s: got %+v, want %s", name, got, want)
			}
		}
	}
	if got := (config.Sources{}).KeysOf("notes"); got.Problem(none) != "" {
		t.Error("a key is required although none is pinned")
	}
	pinned := &config.PinnedKeys{Names: "acme-*", Keys: []signature.Key{ada}, File: "c.toml", Line: 3}
	for signer, want := range map[signature.Key]string{
		ada:   "",
		grace: "it is signed with the key " + graceKey + `, which sources.keys."acme-*" (c.toml:3) does not contain`,
		none:  `it is not signed, and sources.keys."acme-*" (c.toml:3) requires a key`,
	} {
		if got := pinned.Problem(signer); got != want {
			t.Errorf("%s: got %q, want %q", signer, got, want)
		}
	}
	pinned.Keys = nil
	for _, signer := range []signature.Key{ada, none} {
		if got := pinned.Problem(signer); got != `sources.keys."acme-*" (c.toml:3) accepts no key` {
			t.Errorf("%q", got)
		}
	}
}

func TestSourcesRefuses(t *testing.T) {
	catalogue := func(keys string) string { return "catalogues = [{ " + keys + " }]" }
	key := ", key = '" + adaKey + "'"
	for text, want := range map[string]string{
		"urls = []":                                                             "sources.urls: is not a known key",
		"catalogues = 'https://a.example'":                                      "sources.catalogues: is a string, not an array",
		"catalogues = ['https://a.example']":                                    "sources.catalogues[0]: has no key",
		"catalogues = [1]":                                                      "sources.catalogues[0]: is an integer",
		catalogue("from = 'https://a.example'"):                                 "sources.catalogues[0].key: is missing",
		catalogue("key = '" + adaKey + "'"):                                     "sources.catalogues[0].from: is missing",
		catalogue("from = 'a', key = 'RWQ'"):                                    `sources.catalogues[0].key: "RWQ" is no public key`,
		catalogue("from = 'ftp://a.example/x'" + key):                           "sources.catalogues[0].from: \"ftp://a.example/x\" has a scheme",
		catalogue("from = \"a\\u202eb\"" + key):                                 "sources.catalogues[0].from: is longer than",
		catalogue("from = '" + strings.Repeat("x", 2049) + "'" + key):           "sources.catalogues[0].from: is longer than",
		catalogue("from = 'a', serial = 1" + key):                               "sources.catalogues[0].serial: is not a known key",
		"catalogues = [{ from = 'a'" + key + " }, { from = './a'" + key + " }]": "sources.catalogues[1]: is that of line 2 too",
		"catalogues = [" + strings.Repeat("{ from = 'a'"+key+" },", 17) + "]":   "sources.catalogues: has more than 16 catalogues",
		"keys = ['" + adaKey + "']":                                             "sources.keys: is an array, not a table",
		"keys = { 'a*' = '" + adaKey + "' }":                                    "sources.keys.\"a*\": is a string, not an array",
		"keys = { 'a*' = ['x'] }":                                               "sources.keys.\"a*\"[0]: \"x\" is no public key",
		"keys = { 'a*b' = [] }":                                                 "sources.keys.\"a*b\": is no name space",
		"keys = { '**' = [] }":                                                  "sources.keys.\"**\": is no name space",
		"keys = { 'example.com/*' = [] }":                                       "sources.keys.\"example.com/*\": is no name space",
		"keys = { 'Acme' = [] }":                                                "sources.keys.Acme: is no name space",
		"keys = { '\u0430cme-*' = [] }":                                         "is no name space", // a Cyrillic a
		"keys = { '' = [] }":                                                    "is no name space",
		"[sources.keys]\n" + manySpaces(201):                                    "is one of more than 200 name spaces",
	} {
		for where, parse := range map[string]func(string, []byte) error{
			"bulkhead.toml": func(file string, data []byte) error { _, ps := config.Parse(file, data); return ps.Err() },
			"ceiling.toml":  func(file string, data []byte) error { _, ps := config.ParseCeiling(file, data); return ps.Err() },
		} {
			err := parse(where, []byte("[sources]\n"+text))
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), where+":") {
				t.Errorf("%.80s: got %v, want %s", text, err, want)
			}
		}
	}
}

func manySpaces(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("a" + strings.Repeat("b", i%60) + strings.Repeat("c", i/60) + " = []\n")
	}
	return b.String()
}

func TestSourcesOfIncludedFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "bulkhead.toml")
	included := map[string]string{filepath.Join(dir, "team", "sources.toml"): someSources}
	c, ps := config.ParseWith(file, []byte("include = ['team/sources.toml']\n[sources.keys]\nacme-pay = []\n"), func(path string) ([]byte, error) {
		return []byte(included[path]), nil
	})
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Sources.Catalogues[1].From, filepath.Join(dir, "team", "team", "catalogue.toml"); got != want {
		t.Errorf("the path is %s, want %s", got, want)
	}
	if got := c.Sources.KeysOf("acme-pay"); got.File != file || len(got.Keys) != 0 {
		t.Errorf("got %+v", got)
	}
	if got := c.Sources.KeysOf("acme-x"); got.File != filepath.Join(dir, "team", "sources.toml") {
		t.Errorf("got %+v", got)
	}
}
