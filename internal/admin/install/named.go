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

// StageNamed fetches the plugin that a name stands for, as StageFound does. One that turns out to be revoked is passed over. found is what
// sources.Find has returned for the name.
func StageNamed(ctx context.Context, fetcher fetcherOf, sources *catalogue.Sources, name catalogue.Name, found *catalogue.Found, signer signature.Key) (*Staged, error) {
	for range maxInspected {
		s, err := StageFound(ctx, fetcher(found.Reference().String()), found, signer)
		if err != nil {
			return nil, err
		}
		m := s.plugin.Manifest
		why := sources.Revoked(m.Digest, m.Module.SHA256)
		if why == "" {
			return s, nil
		}
		sources.Revoke(m.Digest, why)
		if err := s.Close(); err != nil {
			return nil, err
		}
		if found, err = sources.Find(name); err != nil {
			return nil, err
		}
	}
	return nil, usage.Errorf("the %d newest versions of %s are revoked: name an older one, `bulkhead add %s@VERSION`", maxInspected, name.Name, name.Name)
}

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
	s.catalogue, s.looksLike, s.operator, s.skipped = found.Catalogue, found.LooksLike, found.Operator, found.Skipped
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
