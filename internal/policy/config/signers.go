package config

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Signers are the keys with one of which a plugin must be signed, for one part of a file.
type Signers struct {
	Keys []signature.Key
	At   string // the key of the file that requires it, with its position: ceiling.require_signature (/etc/bulkhead/bulkhead.toml:3)
}

func (s *Signers) withoutPath() *Signers {
	if s == nil {
		return nil
	}
	return &Signers{Keys: s.Keys}
}

const requireSignature = "require_signature"

// readSigners reads the keys that a table of a ceiling requires; nil if it requires none.
func readSigners(t *tomlfile.Table) *Signers {
	if !t.Has(requireSignature) {
		return nil
	}
	s := &Signers{At: fmt.Sprintf("%s (%s:%d)", t.Path(requireSignature), t.File(), t.LineOf(requireSignature))}
	t.Distinct(requireSignature, func(text string) (what, remedy string) {
		key, err := signature.ParseKey(text)
		if err != nil {
			return fmt.Sprintf("%s %v", tomlfile.Quote(text), err), "write the public key that the author publishes"
		}
		s.Keys = append(s.Keys, key)
		return "", ""
	})
	return s
}

// RequiredSigners returns for each part of the ceiling that requires a signature of the plugin of m the keys that it accepts. There are none if the
// ceiling pins the digest of the manifest, which says more, and requires no signature there.
func (c *Ceiling) RequiredSigners(m *manifest.Manifest) []Signers {
	if c == nil {
		return nil
	}
	required := c.RequireSignature
	switch own, _ := c.allowed(m); {
	case own != nil && own.RequireSignature != nil:
		required = own.RequireSignature
	case own != nil && own.SHA256 != "":
		return nil
	}
	all := c.Sources.RequiredSigners(m)
	if required != nil {
		all = append(all, *required)
	}
	return all
}

// RequiredSigners returns the keys that are pinned for the name of the plugin of m.
func (s Sources) RequiredSigners(m *manifest.Manifest) []Signers {
	p := s.KeysOf(m.Name)
	if p == nil {
		return nil
	}
	return []Signers{{Keys: p.Keys, At: p.At()}}
}
