package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Fetcher fetches one archive, or the versions of one plugin. The zero value is ready to use.
type Fetcher struct {
	Task      *progress.Task    // shows the bytes so far, and is ended; nil shows nothing
	Transport http.RoundTripper // nil: that of the system, with its proxies and certificates
	// Credential returns the user's credential for a registry; nil: there are none.
	Credential func(ctx context.Context, registry string) (registry.Credential, error)
}

// Fetched is an archive, and where it came from.
type Fetched struct {
	Archive   []byte
	Signature []byte    // content of the file .minisig beside the archive, or of the artifact's layer; nil: it is not signed
	From      Reference // that of Fetch, for an artifact with its digest
}

// Fetch returns the archive of a reference that is not a Directory. It has at most archive.MaxSize bytes, and the digest of the reference.
func (f *Fetcher) Fetch(ctx context.Context, r Reference) (*Fetched, error) {
	defer f.Task.Done("")
	got := &Fetched{From: r}
	var err error
	switch r.Kind {
	case File:
		got.Archive, err = readArchive(r.Path)
	case HTTPS:
		got.Archive, err = f.get(ctx, r.URL, archive.MaxSize)
	case OCI:
		return f.pull(ctx, r)
	default:
		return nil, fmt.Errorf("%s is not fetched", r)
	}
	if err == nil {
		err = r.checkDigest(userfile.Digest(got.Archive))
	}
	if err == nil {
		got.Signature, err = f.signature(ctx, r)
	}
	if err != nil {
		return nil, usage.Errorf("%s: %w", r.Label(), err)
	}
	return got, nil
}

// signature returns the signature beside the archive of a File or HTTPS; nil if there is none.
func (f *Fetcher) signature(ctx context.Context, r Reference) ([]byte, error) {
	var text []byte
	var err error
	if r.Kind == File {
		text, err = filesystem.ReadFile(filesystem.OS{}, r.Path+signature.Extension, signature.MaxSize)
	} else {
		beside := *r.URL
		beside.Path, beside.RawPath = beside.Path+signature.Extension, ""
		text, err = f.get(ctx, &beside, signature.MaxSize)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), isAbsent(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("its signature: %w", usage.Cause(err))
	}
	return text, nil
}

func (f *Fetcher) registry() *registry.Client {
	client := &registry.Client{Credential: f.Credential}
	client.HTTP.Transport, client.HTTP.Progress = f.Transport, f.count
	return client
}

// count shows how many bytes of total were transferred; total is -1 if it is not known.
func (f *Fetcher) count(done, total int64) {
	if total > 0 {
		f.Task.Count(done, total)
	}
}

// pull returns the artifact of a registry.
func (f *Fetcher) pull(ctx context.Context, r Reference) (*Fetched, error) {
	f.Task.Step("fetching from %s", r.OCI.Registry)
	a, err := f.registry().Pull(ctx, r.OCI)
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	r.OCI.Digest = a.Digest
	return &Fetched{Archive: a.Content, Signature: a.Signature, From: r}, nil
}

func readArchive(path string) ([]byte, error) {
	data, err := filesystem.ReadFile(filesystem.OS{}, path, archive.MaxSize)
	if errors.Is(err, filesystem.ErrTooLarge) {
		return nil, fmt.Errorf("it has more than the %d MiB that an archive may have", archive.MaxSize>>20)
	}
	return data, usage.Cause(err)
}
