package install

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
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
	store  store.Store
	temp   *tempdir.Dir
}

// Source says where a plugin was fetched from.
type Source struct {
	From    string `json:"from"`
	Archive string `json:"archive"` // SHA-256 of the archive
	Size    int64  `json:"size"`    // bytes of the archive
}

// Stage fetches and checks a plugin.
func Stage(ctx context.Context, f *source.Fetcher, r source.Reference) (*Staged, error) {
	data, err := f.Fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	p, err := store.Open(data)
	if err != nil {
		return nil, usage.Errorf("%s: %w", r.Label(), err)
	}
	return newStaged(ctx, p, store.Origin{From: r.String(), Fetched: time.Now().UTC().Truncate(time.Second)})
}

func newStaged(ctx context.Context, p *store.Plugin, origin store.Origin) (*Staged, error) {
	temp, err := tempdir.New("add")
	if err != nil {
		return nil, err
	}
	s := &Staged{plugin: p, origin: origin, store: store.In(filepath.Join(temp.Path, "plugins")), temp: temp}
	if _, err := s.store.Add(ctx, p, s.origin); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close removes what was staged.
func (s *Staged) Close() error { return s.temp.Remove() }

func (s *Staged) dir() string { return s.store.Path(s.plugin.Manifest.Digest) }

func (s *Staged) source() *Source {
	return &Source{From: s.origin.From, Archive: s.plugin.Archive, Size: s.plugin.Size}
}
