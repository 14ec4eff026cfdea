package install

import (
	"context"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// The states of a Stored.
const (
	Present = "present" // the store had it
	Fetched = "fetched" // it was fetched
	Failed  = "failed"  // it is not what the config pins, or cannot be fetched
	Refused = "refused" // it is what the config pins, and is not served: see discovery.Refusal
)

// Stored is a plugin of the config that was fetched, and whether the store contains what the config pins.
type Stored struct {
	Plugin  string `json:"plugin,omitempty"` // name; empty if it is not known, because the plugin could not be fetched
	Version string `json:"version,omitempty"`
	From    string `json:"from"`
	Digest  string `json:"sha256"`
	At      string `json:"at"` // the table of the config
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"` // why State is Failed or Refused
}

// FetchPinned puts each plugin of the config that was fetched, as it is pinned, into the store, unless it is there already. The config must be
// one that a host with these options would use. fetcher returns the Fetcher for a reference.
func FetchPinned(ctx context.Context, o discovery.Options, fetcher func(reference string) *source.Fetcher) ([]Stored, error) {
	all := []Stored{}
	f, err := readFetched(o)
	if err != nil {
		return all, err
	}
	admission, err := discovery.FindAdmission(o, f.config)
	if err != nil {
		return nil, err
	}
	for _, p := range f.plugins {
		stored := fetchPinned(ctx, f.store, p, admission, fetcher)
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		all = append(all, stored)
	}
	return all, nil
}

func fetchPinned(ctx context.Context, plugins store.Store, p config.Plugin, admission *discovery.Admission, fetcher func(reference string) *source.Fetcher) Stored {
	s := Stored{From: p.From, Digest: p.SHA256, At: p.At("from"), State: Present}
	p.Path = plugins.Path(p.SHA256)
	opened, err := plugins.Plugin(p.SHA256)
	var refusal *discovery.Refusal
	if err == nil {
		refusal = admission.Refusal(p, opened.Manifest)
	}
	if err != nil || refusal != nil && !refusal.Revoked { // it may have been fetched without a signature
		s.State = Fetched
		var again *store.Plugin
		if again, err = addPinned(ctx, plugins, p, fetcher); again != nil {
			opened = again
		}
		if err == nil {
			refusal = admission.Refusal(p, opened.Manifest)
		}
	}
	if opened != nil {
		s.Plugin, s.Version = opened.Manifest.Name, opened.Manifest.Version
	}
	var problems []string
	if err != nil {
		s.State, problems = Failed, []string{err.Error()}
	}
	if refusal != nil {
		s.State, problems = Refused, append([]string{refusal.String()}, problems...)
	}
	s.Problem = strings.Join(problems, "; ")
	return s
}

// addPinned fetches the plugin of a table of the config, and adds it to the store if it is what the table pins.
func addPinned(ctx context.Context, plugins store.Store, p config.Plugin, fetcher func(reference string) *source.Fetcher) (*store.Plugin, error) {
	r, err := source.Parse(p.From, p.Dir)
	if err != nil {
		return nil, err
	}
	if r.Kind == source.Directory {
		return nil, fmt.Errorf("%s is not a reference that can be fetched: write its directory in path", p.From)
	}
	got, err := fetcher(p.From).Fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	signer, err := source.Verify(got.Archive, got.Signature, p.Signer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Label(), err)
	}
	opened, err := store.Open(got.Archive)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r.Label(), err)
	case opened.Manifest.Digest != p.SHA256:
		return opened, fmt.Errorf("%s is now %s %s, whose plugin.toml has the SHA-256 %s; the config pins %s", r.Label(), opened.Manifest.Name, opened.Manifest.Version, opened.Manifest.Digest, p.SHA256)
	}
	_, err = plugins.Add(ctx, opened, originOf(got, signer))
	return opened, err
}
