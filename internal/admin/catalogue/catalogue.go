// Package catalogue reads, writes and keeps catalogues: signed lists of plugins, by which a plugin can be added by its name, searched for
// and updated. Start with Parse for the format, and with Open and Find for the catalogues that a config and a ceiling name.
//
// A catalogue grants nothing: what it says of a version is compared with what is fetched, and a config pins what was reviewed. What clients
// are offered is package catalog of the district policy.
package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// FileName is the usual name of a catalogue.
const FileName = "catalogue.toml"

// Bounds of a catalogue, which has at most tomlfile.MaxSize bytes.
const (
	MaxEntries     = 4000
	maxDescription = 1000 // bytes
	maxFrom        = 2048 // bytes
	format         = 1
)

// Catalogue is a list of plugins.
type Catalogue struct {
	Serial  int64   // grows with each change
	Entries []Entry // by name, the newest version first
}

// Entry is a version of a plugin.
type Entry struct {
	Name        string
	Version     string
	Description string
	// From is the reference to the archive as the catalogue has it: https://…#sha256=…, oci://…, file:…, or, relative to the catalogue,
	// FILE#sha256=….
	From   string
	SHA256 string        // digest of its plugin.toml
	Signer signature.Key // the key that signed the archive; the zero value: it is not signed
	Size   int64         // bytes of the archive; 0: unknown
	// Revoked is why the version may not be served, if a list of revoked plugins names it. It is not part of the catalogue.
	Revoked string

	reference source.Reference
}

// Parse parses the catalogue at an address, which is the one that source.ParseDocument returned. The catalogue is nil if data is not TOML, and must
// be used only if Err of the problems returns nil.
func Parse(at source.Reference, data []byte) (*Catalogue, tomlfile.Problems) {
	doc, ps := tomlfile.Parse(at.Address(), data)
	if doc == nil {
		return nil, ps
	}
	root := doc.Root()
	c := &Catalogue{}
	if number, ok := root.Int("catalogue"); !ok || number != format {
		root.Fault("catalogue", fmt.Sprintf("is not %d", format), fmt.Sprintf("write catalogue = %d; a newer number needs a newer version of bulkhead", format))
	}
	var ok bool
	if c.Serial, ok = root.Int("serial"); !ok || c.Serial < 1 {
		root.Fault("serial", "is not a positive integer", "write serial = 1, and a greater number after each change")
	}
	tables := root.Tables("plugins")
	if len(tables) > MaxEntries {
		root.Fault("plugins", fmt.Sprintf("has more than %d entries", MaxEntries), "remove old versions")
		tables = nil
	}
	lines := map[[2]string]int{}
	for _, t := range tables {
		e := readEntry(t, at)
		key := [2]string{e.Name, e.Version}
		if line, duplicate := lines[key]; duplicate && e.Name != "" {
			t.Fault("name", fmt.Sprintf("%s %s is also in line %d", e.Name, e.Version, line), "remove one of them: a version is final")
		}
		lines[key] = t.Line()
		c.Entries = append(c.Entries, e)
	}
	c.sort()
	return c, doc.Problems()
}

func (c *Catalogue) sort() {
	slices.SortFunc(c.Entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), semver.Compare("v"+b.Version, "v"+a.Version), cmp.Compare(b.Version, a.Version))
	})
}

func readEntry(t *tomlfile.Table, at source.Reference) Entry {
	const writtenByPush = "`bulkhead plugin push --catalogue` writes it"
	e := Entry{
		Name: t.Required("name", writtenByPush), Version: t.Required("version", writtenByPush), Description: t.Required("description", writtenByPush),
		From: t.Required("from", writtenByPush), SHA256: manifest.ReadDigest(t, "sha256"),
	}
	if e.Name != "" && !manifest.IsPluginName(e.Name) {
		t.Fault("name", fmt.Sprintf("%s is not the name of a plugin", tomlfile.Quote(e.Name)), "write the name in its plugin.toml: lower-case letters a to z, digits and -")
		e.Name = ""
	}
	if e.Version != "" && !manifest.IsVersion(e.Version) {
		t.Fault("version", fmt.Sprintf("%s is not a version", tomlfile.Quote(e.Version)), "write the version in its plugin.toml, such as 1.4.2")
	}
	if !visible.Only(e.Description) || len(e.Description) > maxDescription {
		t.Fault("description", fmt.Sprintf("is longer than %d bytes, or contains invisible characters or line breaks", maxDescription), "write a sentence")
	}
	if !t.Has("sha256") {
		t.Fault("sha256", "is missing", "write the SHA-256 of its plugin.toml; "+writtenByPush)
	}
	var err error
	if e.From != "" {
		if e.reference, err = resolve(e.From, at); err != nil {
			t.Fault("from", err.Error(), "write a reference as `bulkhead add` takes it, or the name of a file beside the catalogue with #sha256= and its digest")
		}
	}
	if text := t.String("signer"); t.Has("signer") {
		if e.Signer, err = signature.ParseKey(text); err != nil {
			t.Fault("signer", fmt.Sprintf("%s %v", tomlfile.Quote(text), err), "write the public key of the author, or leave it out if the archive is not signed")
		}
	}
	if e.Size, _ = t.Int("size"); t.Has("size") && (e.Size < 1 || e.Size > archive.MaxSize) {
		t.Fault("size", fmt.Sprintf("is not a number of bytes from 1 to %d", archive.MaxSize), "write the size of the archive, or leave it out")
	}
	return e
}

// resolve parses the reference of an entry of the catalogue at an address.
func resolve(from string, at source.Reference) (source.Reference, error) {
	if len(from) > maxFrom || !visible.Only(from) {
		return source.Reference{}, fmt.Errorf("is longer than %d bytes, or contains invisible characters", maxFrom)
	}
	if path, fragment, _ := strings.Cut(from, "#"); !strings.Contains(path, ":") {
		return beside(path, fragment, at)
	}
	r, err := source.Parse(from, filepath.Dir(at.Path))
	switch {
	case err != nil:
		return r, err
	case r.Kind == source.Directory:
		return r, errors.New("is a directory, which cannot be fetched")
	case reachOf(r) < reachOf(at):
		return r, fmt.Errorf("%s is on this machine, and the catalogue is not", r.Label())
	}
	return r, nil
}

// beside returns the reference to a file beside a catalogue, or below its directory.
func beside(path, fragment string, at source.Reference) (source.Reference, error) {
	switch {
	case !fs.ValidPath(path) || path == "." || strings.Contains(path, `\`):
		return source.Reference{}, fmt.Errorf("%s is not a relative path below the directory of the catalogue", tomlfile.Quote(path))
	case fragment == "":
		return source.Reference{}, errors.New("has no digest of the archive")
	case at.Kind == source.OCI:
		return source.Reference{}, errors.New("is relative, and the catalogue is in a registry")
	case at.Kind == source.HTTPS:
		u := at.URL.ResolveReference(&url.URL{Path: "./" + path, Fragment: fragment})
		return source.Parse(u.String(), "")
	}
	return source.Parse("file:"+filepath.ToSlash(filepath.Join(filepath.Dir(at.Path), filepath.FromSlash(path)))+"#"+fragment, "")
}

// reachOf says how far away a reference is: on the disk, on the loopback interface, or in the network. A catalogue must not refer to anything
// nearer than itself: what is on this machine is not offered to servers to look for.
func reachOf(r source.Reference) int {
	var loopback bool
	switch r.Kind {
	case source.OCI:
		loopback = r.OCI.IsLoopback()
	case source.HTTPS:
		loopback = download.IsLoopback(strings.ToLower(r.URL.Hostname()))
	default:
		return 0
	}
	if loopback {
		return 1
	}
	return 2
}

// Reference returns where the archive is.
func (e Entry) Reference() source.Reference { return e.reference }

// Encode returns the content of the file of a catalogue.
func (c *Catalogue) Encode() []byte {
	c.sort()
	var b strings.Builder
	fmt.Fprintf(&b, "# Plugins that can be added by their names. `bulkhead plugin push --catalogue` writes and signs this file.\ncatalogue = %d\nserial = %d\n", format, c.Serial)
	for _, e := range c.Entries {
		b.WriteString("\n" + e.TOML())
	}
	return []byte(b.String())
}

// TOML returns the table of an entry.
func (e Entry) TOML() string {
	var b strings.Builder
	b.WriteString("[[plugins]]\n")
	for _, key := range []struct{ name, value string }{
		{"name", e.Name}, {"version", e.Version}, {"description", e.Description}, {"from", e.From}, {"sha256", e.SHA256}, {"signer", e.Signer.String()},
	} {
		if key.value != "" {
			fmt.Fprintf(&b, "%s = %s\n", key.name, tomlfile.Text(key.value))
		}
	}
	if e.Size > 0 {
		fmt.Fprintf(&b, "size = %d\n", e.Size)
	}
	return b.String()
}
