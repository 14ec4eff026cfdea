package archive

import (
	"archive/tar"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
)

// stream reads an archive once, from the beginning to the end.
type stream struct {
	path    string
	limits  Limits
	raw     *counter // the bytes of the file, which this reader counts
	sum     hash.Hash
	inflate func(io.Reader) (io.Reader, error)
	keep    io.Writer // receives the decompressed data, unless keep is nil
	tar     *tar.Reader
	tail    io.Reader // reads the decompressed data after the tar
	member  int       // the index of the member that the method next has returned
	header  *tar.Header
	file    io.ReadCloser
}

// counter is a reader that counts bytes, and returns an error after more than limit bytes.
type counter struct {
	from  io.Reader
	n     int64
	limit int64
	what  string
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if c.n += int64(n); c.n > c.limit {
		return 0, fmt.Errorf("%w: %s than %d bytes", errTooLarge, c.what, c.limit)
	}
	return n, err
}

var errTooLarge = errors.New("too large")

// opener opens regular files.
type opener interface {
	Open(path string) (io.ReadCloser, error)
}

// regular opens only regular files of a file system.
type regular struct{ files files.System }

func (r regular) Open(path string) (io.ReadCloser, error) { return files.OpenRegular(r.files, path) }

// open opens the archive at path. Unless sum is nil, the stream adds all bytes of the file to sum. The caller must
// close the file.
func open(s opener, path string, limits Limits, sum hash.Hash) (*stream, error) {
	file, err := s.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, invalid(path, "the file does not exist")
	}
	if err != nil {
		return nil, err
	}
	a := &stream{path: path, limits: limits, sum: sum, file: file, member: -1, inflate: new(Peeker).inflate}
	from := io.Reader(file)
	if sum != nil {
		from = io.TeeReader(file, sum)
	}
	a.raw = &counter{from: from, limit: limits.Compressed, what: "the file has more"}
	return a, nil
}

// next advances to the next member, and returns io.EOF after the last member. It returns an error for a member that is
// neither a file, a directory nor a link.
func (a *stream) next() (name string, k kind, err error) {
	if a.tar == nil {
		inflated, err := a.inflate(a.raw)
		if err != nil {
			return "", 0, a.broken(err)
		}
		if a.keep != nil {
			inflated = io.TeeReader(inflated, a.keep)
		}
		a.tail = &counter{from: inflated, limit: a.limits.Inflated, what: "the decompressed content has more"}
		a.tar = tar.NewReader(a.tail)
	}
	if err := a.advance(); err != nil {
		return "", 0, err
	}
	header := a.header
	if k, err = memberKind(header); err != nil {
		return "", 0, invalid(a.path, "%w", err)
	}
	if k == file && header.Size > a.limits.Inflated {
		return "", 0, invalid(a.path, "member %.100q has %d bytes, at most %d are allowed", header.Name, header.Size, a.limits.Inflated)
	}
	if name, err = cleanMember(header.Name, a.limits); err != nil {
		return "", 0, invalid(a.path, "%w", err)
	}
	if name == "." && k != folder {
		return "", 0, invalid(a.path, "member %.100q has a path without a file name", header.Name)
	}
	return name, k, nil
}

// advance advances to the next member that is not an extended header.
func (a *stream) advance() error {
	for {
		header, err := a.tar.Next()
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		if err != nil {
			return a.broken(err)
		}
		if a.member++; a.member >= a.limits.Members {
			return invalid(a.path, "the archive has more than %d members", a.limits.Members)
		}
		if a.header = header; header.Typeflag != tar.TypeXGlobalHeader {
			return nil
		}
	}
}

func memberKind(header *tar.Header) (kind, error) {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return 0, fmt.Errorf("member %.100q is a sparse file, which is not supported", header.Name)
		}
	}
	switch header.Typeflag {
	case tar.TypeReg:
		return file, nil
	case tar.TypeDir:
		return folder, nil
	case tar.TypeSymlink, tar.TypeLink:
		return link, nil
	}
	return 0, fmt.Errorf("member %.100q is neither a file, a directory nor a link", header.Name)
}

// finish reads the decompressed data to its end. The decompressor then verifies the gzip checksum.
func (a *stream) finish() error {
	if _, err := io.Copy(io.Discard, a.tail); err != nil {
		return a.broken(err)
	}
	return a.drain()
}

// drain reads the remaining bytes of the file, so that the checksum covers the whole file.
func (a *stream) drain() error {
	if _, err := io.Copy(io.Discard, a.raw); err != nil {
		return a.broken(err)
	}
	return nil
}

func (a *stream) checksum() string { return "sha256:" + hex.EncodeToString(a.sum.Sum(nil)) }

// broken converts an error of the decompressor or of the tar reader to an error with the code ArchiveInvalid. It
// returns file system errors unchanged.
func (a *stream) broken(err error) error {
	if pathErr := new(fs.PathError); errors.As(err, &pathErr) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // callers would take io.EOF for the end of a complete archive
	}
	if errors.Is(err, errTooLarge) {
		return invalid(a.path, "%w", err)
	}
	return invalid(a.path, "the file is damaged or not a gzip-compressed tar archive: %w", err)
}
