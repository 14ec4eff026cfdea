package catalogue

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
)

var (
	sum   = strings.Repeat("ab", 32)
	other = strings.Repeat("cd", 32)
)

const keyText = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"

// addressOf returns where a catalogue is.
func addressOf(t *testing.T, from string) source.Reference {
	t.Helper()
	r, err := source.ParseDocument(from)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// entry returns a table with these keys in place of valid ones.
func entry(keys ...string) string {
	values := []string{`name = "notes"`, `version = "1.0.0"`, `description = "Keeps notes"`, `from = "oci://a.example/notes:1.0.0"`, `sha256 = "` + sum + `"`}
	for _, key := range keys {
		name, _, _ := strings.Cut(key, " ")
		found := false
		for i := range values {
			if strings.HasPrefix(values[i], name+" ") {
				values[i], found = key, true
			}
		}
		if !found {
			values = append(values, key)
		}
	}
	return "[[plugins]]\n" + strings.Join(values, "\n") + "\n"
}

const head = "catalogue = 1\nserial = 7\n"

func TestCatalogueIsReadAsWritten(t *testing.T) {
	key, err := signature.ParseKey(keyText)
	if err != nil {
		t.Fatal(err)
	}
	c := &Catalogue{Serial: 7, Entries: []Entry{
		{Name: "notes", Version: "1.9.0", Description: `Keeps "notes"`, From: "https://a.example/n.tar#sha256=" + sum, SHA256: sum, Signer: key, Size: 1234},
		{Name: "chant", Version: "0.1.0", Description: "Specs", From: "oci://a.example/chant:0.1.0@sha256:" + sum, SHA256: other},
		{Name: "notes", Version: "1.10.0", Description: "Keeps notes", From: "sub/notes.tar#sha256=" + sum, SHA256: other},
	}}
	got, problems := Parse(addressOf(t, "https://plugins.example/list/catalogue.toml"), c.Encode())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got, cmpopts.IgnoreUnexported(Entry{})); diff != "" {
		t.Error(diff)
	}
	var order, references []string
	for _, e := range got.Entries {
		order, references = append(order, e.Name+" "+e.Version), append(references, e.Reference().String())
	}
	if want := []string{"chant 0.1.0", "notes 1.10.0", "notes 1.9.0"}; !cmp.Equal(order, want) {
		t.Errorf("order: %q", order)
	}
	if want := []string{"oci://a.example/chant:0.1.0@sha256:" + sum, "https://plugins.example/list/sub/notes.tar#sha256=" + sum, "https://a.example/n.tar#sha256=" + sum}; !cmp.Equal(references, want) {
		t.Errorf("references: %q", references)
	}
}

func TestReferencesOfEntries(t *testing.T) {
	onDisk, loopback, network, image := "/srv/plugins/catalogue.toml", "http://127.0.0.1:80/a/catalogue.toml?token=secret", "https://plugins.example/a/b", "oci://plugins.example/catalogue:latest"
	digest := "#sha256=" + sum
	for _, c := range []struct{ at, from, want, fault string }{
		{onDisk, "n.tar" + digest, "file:/srv/plugins/n.tar" + digest, ""},
		{onDisk, "sub/n 1.tar" + digest, "file:/srv/plugins/sub/n 1.tar" + digest, ""},
		{onDisk, "file:/x/n.tar" + digest, "file:/x/n.tar" + digest, ""},
		{onDisk, "file:n.tar" + digest, "file:/srv/plugins/n.tar" + digest, ""},
		{onDisk, "http://localhost/n.tar" + digest, "http://localhost/n.tar" + digest, ""},
		{onDisk, "https://b.example/n.tar" + digest, "https://b.example/n.tar" + digest, ""},
		{loopback, "n.tar" + digest, "http://127.0.0.1:80/a/n.tar" + digest, ""},
		{loopback, "oci://127.0.0.1:80/n:1.0.0", "oci://127.0.0.1:80/n:1.0.0", ""},
		{loopback, "file:/n.tar" + digest, "", "is on this machine, and the catalogue is not"},
		{network, "n.tar" + digest, "https://plugins.example/a/n.tar" + digest, ""},
		{network, "n%2e%2e.tar" + digest, "https://plugins.example/a/n%252e%252e.tar" + digest, ""},
		{network, "//evil.example/n.tar" + digest, "", "is not a relative path"},
		{network, "file:/n.tar" + digest, "", "is on this machine, and the catalogue is not"},
		{network, "file:n.tar", "", "is on this machine, and the catalogue is not"},
		{network, "http://127.0.0.1/n.tar" + digest, "", "is on this machine, and the catalogue is not"},
		{network, "https://localhost/n.tar" + digest, "", "is on this machine, and the catalogue is not"},
		{network, "https://LOCALHOST/n.tar" + digest, "", "is on this machine, and the catalogue is not"},
		{network, "https://[::ffff:127.0.0.1]/n.tar" + digest, "", "is on this machine, and the catalogue is not"},
		{network, "oci://localhost:5000/n:1.0.0", "", "is on this machine, and the catalogue is not"},
		{image, "oci://127.0.0.1/n:1.0.0", "", "is on this machine, and the catalogue is not"},
		{image, "n.tar" + digest, "", "is relative, and the catalogue is in a registry"},
		{onDisk, "n.tar", "", "has no digest of the archive"},
		{onDisk, "n.tar#md5=1", "", "is not the digest of an archive"},
		{onDisk, "../n.tar" + digest, "", "is not a relative path below"},
		{onDisk, "a/../../n.tar" + digest, "", "is not a relative path below"},
		{onDisk, `..\n.tar` + digest, "", "is not a relative path below"},
		{onDisk, "/n.tar" + digest, "", "is not a relative path below"},
		{onDisk, "." + digest, "", "is not a relative path below"},
		{onDisk, digest, "", "is not a relative path below"},
		{onDisk, "n\u202e.tar" + digest, "", "invisible characters"},
		{onDisk, strings.Repeat("x", 2049), "", "longer than 2048 bytes"},
		{network, "https://b.example/n.tar", "", "has no digest"},
		{network, "http://b.example/n.tar" + digest, "", "is not encrypted"},
		{network, "ftp://b.example/n.tar" + digest, "", "are not supported"},
		{network, "oci://b.example/n", "", "has neither tag nor digest"},
	} {
		got, err := resolve(c.from, addressOf(t, c.at))
		switch {
		case c.fault == "" && (err != nil || got.String() != c.want):
			t.Errorf("%s in %s: got %s, %v; want %s", c.from, c.at, got, err, c.want)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s in %s: got %v, want %s", c.from, c.at, err, c.fault)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"x":                                                           "catalogue.toml:1",
		"serial = 1\n" + entry():                                      "catalogue.toml: catalogue: is not 1",
		"catalogue = 2\nserial=1":                                     "catalogue.toml:1: catalogue: is not 1",
		"catalogue = 1":                                               "catalogue.toml: serial: is not a positive integer",
		"catalogue = 1\nserial=0":                                     "catalogue.toml:2: serial: is not a positive integer",
		"catalogue = 1\nserial=1.5":                                   "catalogue.toml:2: serial",
		head + "mirror = 1":                                           "catalogue.toml:3: mirror: is not a known key",
		head + "plugins = 1":                                          "plugins: is an integer, not an array",
		head + entry("trusted = true"):                                "plugins[0].trusted: is not a known key",
		head + "[[plugins]]\n":                                        "plugins[0].name: is missing",
		head + "[[plugins]]\nname = 'a'":                              "plugins[0].sha256: is missing",
		head + entry(`name = "Notes"`):                                `catalogue.toml:4: plugins[0].name: "Notes" is not the name of a plugin`,
		head + entry(`name = "n\u043ftes"`):                           "is not the name of a plugin", // a Cyrillic letter
		head + entry(`name = "notes\u200b"`):                          "is not the name of a plugin",
		head + entry(`name = "../x"`):                                 "is not the name of a plugin",
		head + entry(`version = "1.0"`):                               `plugins[0].version: "1.0" is not a version`,
		head + entry(`version = "v1.0.0"`):                            "is not a version",
		head + entry(`description = ""`):                              "plugins[0].description: is empty",
		head + entry(`description = "a\nb"`):                          "plugins[0].description: is longer than",
		head + entry(`description = "a\u001b[31m"`):                   "plugins[0].description: is longer than",
		head + entry(`description = "`+strings.Repeat("x", 1001)+`"`): "plugins[0].description: is longer than",
		head + entry(`from = "notes"`):                                "plugins[0].from: has no digest",
		head + entry(`sha256 = "ab"`):                                 "plugins[0].sha256: is not a SHA-256",
		head + entry(`signer = "RWQ"`):                                "plugins[0].signer: \"RWQ\" is no public key",
		head + entry(`signer = ""`):                                   "plugins[0].signer: \"\" is no public key",
		head + entry(`size = 0`):                                      "plugins[0].size: is not a number of bytes",
		head + entry(`size = 100663297`):                              "plugins[0].size: is not a number of bytes",
		head + entry() + entry():                                      "catalogue.toml:10: plugins[1].name: notes 1.0.0 is also in line 3",
		head + strings.Repeat("[[plugins]]\n", 4001):                  "plugins: has more than 4000 entries",
		head + strings.Repeat("#", 1<<20):                             "is larger than the limit",
	} {
		c, problems := Parse(addressOf(t, "https://a.example/catalogue.toml?token=secret"), []byte(text))
		err := problems.Err()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60q: got %+v, %v; want %s", text, c, err, want)
		}
	}
}

// TestLargestCatalogueIsRead has as many entries as are accepted.
func TestLargestCatalogueIsRead(t *testing.T) {
	var b strings.Builder
	b.WriteString(head)
	for i := range MaxEntries {
		fmt.Fprintf(&b, "[[plugins]]\nname=\"p%d\"\nversion=\"1.0.0\"\ndescription=\"x\"\nfrom=\"oci://a.example/p:1.0.0\"\nsha256=%q\n", i, sum)
	}
	c, problems := Parse(addressOf(t, filepath.Join(t.TempDir(), "catalogue.toml")), []byte(b.String()))
	if problems.Err() != nil || len(c.Entries) != MaxEntries {
		t.Errorf("%d entries, %v", len(c.Entries), problems.Err())
	}
}

// FuzzParse checks that what is accepted has valid names, references that are not nearer than the catalogue, and no duplicates, and is the
// same after it was written.
func FuzzParse(f *testing.F) {
	f.Add(head + entry())
	f.Add(head + entry(`from = "n.tar#sha256=`+sum+`"`, "size = 5", `signer = "`+keyText+`"`))
	f.Add(head + entry() + entry(`version = "1.0.1"`))
	f.Fuzz(func(t *testing.T, text string) {
		at, err := source.ParseDocument("https://plugins.example/catalogue.toml")
		if err != nil {
			t.Fatal(err)
		}
		c, problems := Parse(at, []byte(text))
		if problems.Err() != nil {
			return
		}
		for i, e := range c.Entries {
			if r := e.Reference(); r.Kind != source.HTTPS && r.Kind != source.OCI || reachOf(r) != 2 || e.Name == "" || e.Version == "" || len(e.SHA256) != 64 {
				t.Errorf("accepted %+v", e)
			}
			if i > 0 && e.Name == c.Entries[i-1].Name && e.Version == c.Entries[i-1].Version {
				t.Errorf("accepted %s %s twice", e.Name, e.Version)
			}
		}
		again, problems := Parse(at, c.Encode())
		if problems.Err() != nil {
			t.Fatal(problems)
		}
		if diff := cmp.Diff(c, again, cmpopts.IgnoreUnexported(Entry{})); diff != "" {
			t.Error(diff)
		}
	})
}
