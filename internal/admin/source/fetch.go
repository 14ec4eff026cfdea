package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Fetcher fetches one archive, or the versions of one plugin. The zero value is ready to use.
type Fetcher struct {
	Task      *progress.Task    // shows the bytes so far, and is ended; nil shows nothing
	Transport http.RoundTripper // nil: that of the system, with its proxies and certificates
}

// Fetch returns the archive of a reference that is not a Directory. It has at most archive.MaxSize bytes, and the digest of the reference.
func (f *Fetcher) Fetch(ctx context.Context, r Reference) ([]byte, error) {
	defer f.Task.Done("")
	var data []byte
	var err error
	switch r.Kind {
	case File:
		data, err = readArchive(r.Path)
	case HTTPS:
		data, err = f.download(ctx, r.URL)
	default:
		return nil, fmt.Errorf("%s is not fetched", r)
	}
	if err == nil {
		sum := sha256.Sum256(data)
		err = r.checkDigest(hex.EncodeToString(sum[:]))
	}
	if err != nil {
		return nil, usage.Errorf("%s: %w", r.Label(), err)
	}
	return data, nil
}

func readArchive(path string) ([]byte, error) {
	data, err := filesystem.ReadFile(filesystem.OS{}, path, archive.MaxSize)
	if errors.Is(err, filesystem.ErrTooLarge) {
		return nil, errTooLarge
	}
	return data, usage.Cause(err)
}

var errTooLarge = fmt.Errorf("it has more than the %d MiB that an archive may have", archive.MaxSize>>20)
