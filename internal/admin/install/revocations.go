package install

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signedfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/revocation"
)

// RevocationList is a list of revoked plugins that the config or the ceiling names, after it was fetched.
type RevocationList struct {
	From    string `json:"from"`
	At      string `json:"at"`                // the key of the config or of the ceiling
	State   string `json:"state"`             // Present, Fetched or Failed
	Serial  int64  `json:"serial"`            // of the list in force; 0: there is none, so nothing is served
	Revoked int    `json:"revoked"`           // number of its entries
	Expires string `json:"expires"`           // the last day of its validity
	Expired bool   `json:"expired"`           // whether a newer one is due; it is in force nevertheless
	Problem string `json:"problem,omitempty"` // why State is Failed
}

// FetchRevocations fetches the newest version of each list of revoked plugins that the ceiling and the config name, and keeps it. The config must be
// one that a host with these options would use, and need not exist.
func FetchRevocations(ctx context.Context, o discovery.Options, fetcher func(reference string) *source.Fetcher) ([]RevocationList, error) {
	c, err := readIfExists(o)
	if err != nil {
		return nil, err
	}
	ceiling, err := discovery.FindCeiling(o.System)
	if err != nil {
		return nil, err
	}
	dir, err := discovery.Revocations(o.System)
	if err != nil {
		return nil, err
	}
	before, err := discovery.RevocationLists(o.System, ceiling, c)
	if err != nil {
		return nil, err
	}
	var all []RevocationList
	for _, l := range before {
		list := RevocationList{From: l.From, At: l.At()}
		if list.State, err = fetchRevocations(ctx, dir, l.SignedFile, fetcher); err != nil {
			list.Problem = err.Error()
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		all = append(all, list)
	}
	after, err := discovery.RevocationLists(o.System, ceiling, c)
	if err != nil {
		return nil, err
	}
	for i, l := range after {
		list := &all[i]
		if list.Expired = l.IsExpired(time.Now()); l.List != nil {
			list.Serial, list.Revoked, list.Expires = l.List.Serial, len(l.List.Revoked), l.List.LastDay()
		}
		if list.Problem == "" && l.Problems != nil {
			list.State, list.Problem = Failed, strings.Join(l.Problems, "; ")
		}
	}
	return all, nil
}

// fetchRevocations fetches and keeps a list, and returns its State.
func fetchRevocations(ctx context.Context, dir signedfile.Dir, from config.SignedFile, fetcher func(reference string) *source.Fetcher) (string, error) {
	got, err := fetcher(from.From).Document(ctx, from.From, from.Key)
	if err != nil {
		return Failed, err
	}
	kept, err := dir.Read(from.Key.String(), from.Key)
	if err == nil && bytes.Equal(kept.Content, got.Content) {
		return Present, nil
	}
	if err := dir.Put(ctx, from.Key.String(), from.Key, got, revocation.Serial); err != nil {
		return Failed, usage.Errorf("%s: %w", source.Label(from.From), err)
	}
	return Fetched, nil
}

// readIfExists reads the config as readFetched does; nil if there is none.
func readIfExists(o discovery.Options) (*config.Config, error) {
	f, err := readFetched(o)
	switch {
	case errors.Is(err, ErrNothingPinned):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return f.config, nil
}
