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

// stream reads an archive once, sequentially.
type stream struct {
	path    string
	limits  Limits
	raw     *counter // counts what was read of the file
	sum     hash.Hash
	inflate func(io.Reader) (io.Reader, error)
	tar     *tar.Reader
	tail    io.Reader // what follows the tar
	member  int       // index of the member that next has returned
	header  *tar.Header
	file    io.ReadCloser
}

// counter is a reader that counts, and fails beyond a limit.
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

// regular is an opener for the file system.
type regular struct{ files files.System }

func (r regular) Open(path string) (io.ReadCloser, error) { return files.OpenRegular(r.files, path) }

// open starts to read an archive, and to hash the file with sum, unless that is nil. The caller closes the file.
func open(s opener, path string, limits Limits, sum hash.Hash) (*stream, error) {
	file, err := s.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, invalid(path, "it is not there")
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

// next goes to the next member; io.EOF after the last. Members other than files, directories and links are refused.
func (a *stream) next() (name string, k kind, err error) {
	if a.tar == nil {
		inflated, err := a.inflate(a.raw)
		if err != nil {
			return "", 0, a.broken(err)
		}
		a.tail = &counter{from: inflated, limit: a.limits.Inflated, what: "what is in it has more"}
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
		return "", 0, invalid(a.path, "member %.100q names no file", header.Name)
	}
	return name, k, nil
}

// advance goes to the next member that is not an extended header.
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
			return invalid(a.path, "it has more than %d members", a.limits.Members)
		}
		if a.header = header; header.Typeflag != tar.TypeXGlobalHeader {
			return nil
		}
	}
}

func memberKind(header *tar.Header) (kind, error) {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return 0, fmt.Errorf("member %.100q is a file with holes", header.Name)
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
	return 0, fmt.Errorf("member %.100q is neither a file nor a folder nor a link", header.Name)
}

// finish reads to the end of the file, which verifies the gzip checksum.
func (a *stream) finish() error {
	if _, err := io.Copy(io.Discard, a.tail); err != nil {
		return a.broken(err)
	}
	return a.drain()
}

// drain reads the rest of the file, for its checksum.
func (a *stream) drain() error {
	if _, err := io.Copy(io.Discard, a.raw); err != nil {
		return a.broken(err)
	}
	return nil
}

func (a *stream) checksum() string { return "sha256:" + hex.EncodeToString(a.sum.Sum(nil)) }

// broken returns an error of code ArchiveInvalid, unless reading the file failed.
func (a *stream) broken(err error) error {
	if pathErr := new(fs.PathError); errors.As(err, &pathErr) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // io.EOF would mean the end of a complete archive
	}
	if errors.Is(err, errTooLarge) {
		return invalid(a.path, "%w", err)
	}
	return invalid(a.path, "it is damaged, or no archive: %w", err)
}
