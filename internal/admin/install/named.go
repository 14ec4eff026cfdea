package install

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// StageFound fetches and checks a plugin that was found by its name. It must be what the catalogue says, and signed with the key that the
// catalogue names, or with signer if that is set.
func StageFound(ctx context.Context, f *source.Fetcher, found *catalogue.Found, signer signature.Key) (*Staged, error) {
	if !signer.IsZero() && !found.Signer.IsZero() && signer != found.Signer {
		return nil, usage.Errorf("%s names the key %s for %s %s, and --signer another one", found.Catalogue, found.Signer, found.Name, found.Version)
	}
	if signer.IsZero() {
		signer = found.Signer
	}
	s, err := Stage(ctx, f, found.Reference(), signer)
	if err != nil {
		return nil, err
	}
	if what := s.differs(found.Entry); what != "" {
		return nil, errors.Join(usage.Errorf("%s is not what the catalogue %s says: %s", found.Reference().Label(), found.Catalogue, what), s.Close())
	}
	s.catalogue, s.looksLike, s.operator = found.Catalogue, found.LooksLike, found.Operator
	return s, nil
}

// differs says what of a plugin is not as the entry of a catalogue says; empty if everything is.
func (s *Staged) differs(e catalogue.Entry) string {
	m := s.plugin.Manifest
	switch {
	case m.Name != e.Name || m.Version != e.Version:
		return fmt.Sprintf("it contains %s %s, and not %s %s", m.Name, m.Version, e.Name, e.Version)
	case m.Digest != e.SHA256:
		return fmt.Sprintf("its plugin.toml has the SHA-256 %s, and not %s", m.Digest, e.SHA256)
	case e.Size != 0 && s.plugin.Size != e.Size:
		return fmt.Sprintf("it has %d bytes, and not %d", s.plugin.Size, e.Size)
	}
	return ""
}
