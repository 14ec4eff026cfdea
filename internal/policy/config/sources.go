package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Sources is the [sources] table: where plugins are found by their names, and who may sign them. Those of a ceiling apply in addition:
// its catalogues replace those of a config, and a plugin must be signed with a key that both pin.
type Sources struct {
	Catalogues []Catalogue // nil: the key is unset
	// Revocations are the lists of plugins that must not be served. Those of a ceiling and of a config are all in force.
	Revocations []SignedFile
	Keys        []PinnedKeys // in the order of the file
}

// IsSet reports whether the table names something.
func (s Sources) IsSet() bool { return len(s.Catalogues)+len(s.Revocations)+len(s.Keys) > 0 }

// Catalogue is a signed list of plugins.
type Catalogue = SignedFile

// SignedFile is where a signed file is, such as a catalogue.
type SignedFile struct {
	From string        // absolute path of a file, https://…, or oci://…
	Key  signature.Key // the key that must have signed it
	File string        // the file that names it
	Line int
	Name string // full key: sources.catalogues[0]
}

// IsLocal reports whether From is a path.
func (c SignedFile) IsLocal() bool { return !strings.Contains(c.From, "://") }

// At formats the position for messages.
func (c SignedFile) At() string { return fmt.Sprintf("%s (%s:%d)", c.Name, c.File, c.Line) }

// PinnedKeys are the keys with which plugins of a name space must be signed.
type PinnedKeys struct {
	Names string // the name of a plugin, or a prefix of names, followed by *
	Keys  []signature.Key
	File  string
	Line  int
}

// At formats the position of the keys for messages.
func (p PinnedKeys) At() string {
	return fmt.Sprintf("sources.keys.%s (%s:%d)", tomlfile.Key(p.Names), p.File, p.Line)
}

// matches reports whether the name of a plugin is in the name space.
func (p PinnedKeys) matches(name string) bool {
	prefix, isPrefix := strings.CutSuffix(p.Names, "*")
	return name == p.Names || isPrefix && strings.HasPrefix(name, prefix)
}

// KeysOf returns the keys of the most specific name space that contains the name of a plugin; nil if none does.
func (s Sources) KeysOf(name string) *PinnedKeys {
	var best *PinnedKeys
	for i := range s.Keys {
		p := &s.Keys[i]
		// A name is more specific than the prefix of the same length that is followed by *.
		if p.matches(name) && (best == nil || len(strings.TrimSuffix(p.Names, "*")) > len(strings.TrimSuffix(best.Names, "*")) || p.Names == name) {
			best = p
		}
	}
	return best
}

// Problem says why a plugin that signer has signed is not accepted; empty if it is. The zero value of signer means that it is not signed, and
// a nil receiver that no key is pinned.
func (p *PinnedKeys) Problem(signer signature.Key) string {
	switch {
	case p == nil || slices.Contains(p.Keys, signer):
		return ""
	case len(p.Keys) == 0:
		return p.At() + " accepts no key"
	case signer.IsZero():
		return fmt.Sprintf("it is not signed, and %s requires a key", p.At())
	}
	return fmt.Sprintf("it is signed with the key %s, which %s does not contain", signer, p.At())
}

// Bounds of [sources].
const (
	maxSignedFiles = 16
	maxNameSpaces  = 200
)

const (
	fileRemedy  = `write { from = "https://…", key = "RW…" }, with the public key that signs the file`
	namesRemedy = `write the name of a plugin, or the beginning of names and *, such as "acme-*"`
	keyRemedy   = "write the public key of minisign, such as `bulkhead plugin push` prints it"
)

func readSources(t *tomlfile.Table) Sources {
	s := Sources{Catalogues: readSignedFiles(t, "catalogues"), Revocations: readSignedFiles(t, "revocations")}
	s.readKeys(t.Table("keys"))
	return s
}

// readSignedFiles reads an array of signed files: nil if absent, not nil if empty.
func readSignedFiles(t *tomlfile.Table, key string) []SignedFile {
	items := t.Items(key)
	if items == nil {
		return nil
	}
	if len(items) > maxSignedFiles {
		t.Fault(key, fmt.Sprintf("has more than %d %s", maxSignedFiles, key), "remove some")
		return nil
	}
	all := []SignedFile{}
	for i, item := range items {
		switch {
		case item.Wrong: // already reported
		case item.Table == nil:
			t.FaultItem(key, i, "has no key", fileRemedy)
		default:
			all = append(all, readSignedFile(item.Table))
		}
	}
	for i, c := range all {
		first := slices.IndexFunc(all, func(have SignedFile) bool { return have.From == c.From })
		if first < i && c.From != "" {
			t.FaultItem(key, i, fmt.Sprintf("is that of line %d too", all[first].Line), "remove one of them")
		}
	}
	return all
}

func readSignedFile(t *tomlfile.Table) SignedFile {
	c := SignedFile{From: t.Required("from", fileRemedy), File: t.File(), Line: t.Line(), Name: t.Name()}
	scheme, _, isURL := strings.Cut(c.From, "://")
	switch {
	case c.From == "": // already reported
	case len(c.From) > maxFrom || !visible.Only(c.From):
		t.Fault("from", fmt.Sprintf("is longer than %d bytes, or contains invisible characters", maxFrom), fileRemedy)
	case isURL && scheme != "https" && scheme != "http" && scheme != "oci":
		t.Fault("from", fmt.Sprintf("%s has a scheme that is not supported", tomlfile.Quote(c.From)), "write a path, https://… or oci://REGISTRY/NAME:TAG")
	case !isURL:
		dir, _ := filepath.Abs(filepath.Dir(t.File())) // Abs cannot fail here: ParseWith has called it successfully
		c.From = absolute(dir, c.From)
	}
	var err error
	if text := t.Required("key", fileRemedy); text != "" {
		if c.Key, err = signature.ParseKey(text); err != nil {
			t.Fault("key", fmt.Sprintf("%s %v", tomlfile.Quote(text), err), keyRemedy)
		}
	}
	return c
}

func (s *Sources) readKeys(t *tomlfile.Table) {
	for i, names := range t.Keys() {
		if i == maxNameSpaces {
			t.Fault(names, fmt.Sprintf("is one of more than %d name spaces", maxNameSpaces), "remove some")
			return
		}
		prefix, isPrefix := strings.CutSuffix(names, "*")
		if !manifest.IsPluginName(prefix) && (prefix != "" || !isPrefix) {
			t.Fault(names, "is no name space", namesRemedy)
			continue
		}
		p := PinnedKeys{Names: names, File: t.FileOf(names), Line: t.LineOf(names)}
		for n, text := range t.Strings(names) {
			key, err := signature.ParseKey(text)
			if err != nil {
				t.FaultItem(names, n, fmt.Sprintf("%s %v", tomlfile.Quote(text), err), keyRemedy)
				continue
			}
			p.Keys = append(p.Keys, key)
		}
		s.Keys = append(s.Keys, p)
	}
}
