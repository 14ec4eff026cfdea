package archive

import (
	"bytes"
	"io"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// maxKept is the maximum number of decompressed bytes that CheckAndKeep keeps. Archives are seldom larger.
const maxKept = 32 << 20

// CheckAndKeep validates an archive as Check does. If the decompressed tar is not large, CheckAndKeep also keeps it in
// the listing. Extract then need not read the archive again; decompressing takes most of the time of an installation.
func CheckAndKeep(s files.System, path, want string, limits Limits) (*Listing, error) {
	keep := &kept{}
	listing, err := check(s, path, want, limits, keep)
	if err == nil && !keep.full {
		listing.tar = keep
	}
	return listing, err
}

// kept is a writer that keeps up to maxKept bytes in memory. It allocates the memory in pieces, because a buffer that
// grows takes twice the memory.
type kept struct {
	pieces [][]byte
	size   int
	full   bool // more than maxKept bytes were written, so none are kept
}

const pieceSize = 256 << 10

// Write implements io.Writer. It returns no error.
func (k *kept) Write(p []byte) (int, error) {
	if k.size += len(p); k.size > maxKept {
		k.pieces, k.full = nil, true
	}
	for rest := p; len(rest) > 0 && !k.full; {
		last := len(k.pieces) - 1
		if last < 0 || len(k.pieces[last]) == pieceSize {
			k.pieces = append(k.pieces, make([]byte, 0, pieceSize))
			continue
		}
		n := min(len(rest), pieceSize-len(k.pieces[last]))
		k.pieces[last] = append(k.pieces[last], rest[:n]...)
		rest = rest[n:]
	}
	return len(p), nil
}

// reader returns a reader of the kept bytes.
func (k *kept) reader() io.Reader {
	readers := make([]io.Reader, len(k.pieces))
	for i, piece := range k.pieces {
		readers[i] = bytes.NewReader(piece)
	}
	return io.MultiReader(readers...)
}

// reopen returns a stream that reads an archive again: the tar that CheckAndKeep has kept, or else the archive's file.
func reopen(s files.System, path string, limits Limits, listing *Listing) (*stream, error) {
	if listing.tar == nil {
		return open(regular{s}, path, limits, digest.New())
	}
	none := io.NopCloser(bytes.NewReader(nil))
	return &stream{
		path: path, limits: limits, member: -1, file: none, raw: &counter{from: none},
		inflate: func(io.Reader) (io.Reader, error) { return listing.tar.reader(), nil },
	}, nil
}
