package install

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// updateRange is the operator of the range in which updates of a plugin are wanted that was added without one.
const updateRange = "^"

// Staged is a plugin that was fetched and is not installed: it is in a temporary store, so that a host with it can be tried. The caller must
// call Close.
type Staged struct {
	plugin *store.Plugin
	origin store.Origin
	signer signature.Key
	known  bool // whether the caller of Stage named the signer
	// operator is that of the range in which updates are wanted.
	operator string
	// catalogue is the address of the catalogue in which the plugin was found by its name, and looksLike the names there that look like its
	// own; both are empty for one that was named by its reference.
	catalogue string
	looksLike []string
	skipped   []catalogue.Entry // newer versions, which are revoked
	store     store.Store
	temp      *tempdir.Dir
}

// Source says where a plugin was fetched from.
type Source struct {
	From    string `json:"from"`
	Archive string `json:"archive"` // SHA-256 of the archive
	Size    int64  `json:"size"`    // bytes of the archive
	// Signer is the key that signed the archive; empty: it is not signed. SignerKnown is set if the config or the user named the key;
	// otherwise only the signature itself does.
	Signer      string `json:"signer,omitempty"`
	SignerKnown bool   `json:"signer_known,omitempty"`
	// Catalogue is the address of the catalogue in which the plugin was found by its name, and which names the signer.
	Catalogue string `json:"catalogue,omitempty"`
	// Imported is set if From is what an import of the store claims.
	Imported bool `json:"imported,omitempty"`
}

// Stage fetches and checks a plugin. If signer is set, the archive must be signed with that key.
func Stage(ctx context.Context, f *source.Fetcher, r source.Reference, signer signature.Key) (*Staged, error) {
	got, err := f.Fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	key, err := source.Verify(got.Archive, got.Signature, signer)
	if err != nil {
		return nil, usage.Errorf("%s: %w", r.Label(), err)
	}
	p, err := store.Open(got.Archive)
	if err != nil {
		return nil, usage.Errorf("%s: %w", r.Label(), err)
	}
	return newStaged(ctx, p, originOf(got, key), key, !signer.IsZero())
}

func newStaged(ctx context.Context, p *store.Plugin, origin store.Origin, signer signature.Key, known bool) (*Staged, error) {
	temp, err := tempdir.New("add")
	if err != nil {
		return nil, err
	}
	s := &Staged{plugin: p, origin: origin, signer: signer, known: known, operator: updateRange, store: store.In(filepath.Join(temp.Path, "plugins")), temp: temp}
	if _, err := s.store.Add(ctx, p, s.origin); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Version returns the version of the plugin.
func (s *Staged) Version() string { return s.plugin.Manifest.Version }

// Close removes what was staged.
func (s *Staged) Close() error { return s.temp.Remove() }

func (s *Staged) dir() string { return s.store.Path(s.plugin.Manifest.Digest) }

func (s *Staged) source() *Source {
	return &Source{From: s.origin.From, Archive: s.plugin.Archive, Size: s.plugin.Size, Signer: s.signer.String(), SignerKnown: s.known, Catalogue: s.catalogue, Imported: s.origin.Imported}
}
