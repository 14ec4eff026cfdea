package archive

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// Peeker reads the manifests of archives. The zero value is ready to use; it keeps its buffers for the next archive.
type Peeker struct {
	buffer   *bufio.Reader
	inflater *gzip.Reader
	quick    io.ReadCloser // a flate.Resetter
}

// maxPeek bounds the inflated bytes that a Peeker reads. The aam program and this one write the manifest among the first
// members.
const maxPeek = 16 << 20

// readSize is the size of the read buffer: each read is a call to the host.
const readSize = 32 << 10

// buffered returns a buffer with the content of a file.
func (p *Peeker) buffered(from io.Reader) *bufio.Reader {
	if p.buffer == nil {
		p.buffer = bufio.NewReaderSize(from, readSize)
	}
	p.buffer.Reset(from)
	return p.buffer
}

// inflate starts to decompress a gzip stream.
func (p *Peeker) inflate(from io.Reader) (io.Reader, error) {
	buffer := p.buffered(from)
	if p.inflater != nil {
		return p.inflater, p.inflater.Reset(buffer)
	}
	inflater, err := gzip.NewReader(buffer)
	if err != nil {
		return nil, err
	}
	p.inflater = inflater
	return inflater, nil
}

// dictionary fills the beginning of a decompressor's window of 32 KiB, so that it returns the first bytes when only the
// rest is full, and not 32 KiB at least. Nothing in a valid stream refers to it.
var dictionary = make([]byte, 24<<10)

var errNotSimple = errors.New("not a simple gzip header")

// inflateBeginning is inflate, but the first bytes are available early, and checksums are not verified. It supports one
// gzip member with the header that programs write for tar archives.
func (p *Peeker) inflateBeginning(from io.Reader) (io.Reader, error) {
	const size, flagged, nameFlag = 10, 3, 8
	buffer := p.buffered(from)
	header := make([]byte, size)
	if _, err := io.ReadFull(buffer, header); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(header, []byte{0x1f, 0x8b, 8}) || header[flagged]&^nameFlag != 0 {
		return nil, errNotSimple
	}
	if header[flagged] == nameFlag {
		if _, err := buffer.ReadSlice(0); err != nil {
			return nil, err
		}
	}
	if p.quick == nil {
		p.quick = flate.NewReaderDict(buffer, dictionary)
		return p.quick, nil
	}
	return p.quick, p.quick.(flate.Resetter).Reset(buffer, dictionary)
}

// Types returns the types of the artifacts in an archive, which s opens, by its manifest, without reading what follows that. The result
// is for display only: neither the manifest nor the rest of the archive is validated, and a later duplicate of the
// manifest would win on extraction.
//
// Its errors have the code ArchiveInvalid or ManifestInvalid.
func (p *Peeker) Types(s opener, path string, limits Limits) ([]manifest.Type, error) {
	limits.Inflated = min(limits.Inflated, maxPeek)
	if types, err := p.types(s, path, limits, p.inflateBeginning); err == nil {
		return types, nil
	}
	return p.types(s, path, limits, p.inflate)
}

// types is Types with a given way to decompress.
func (p *Peeker) types(s opener, path string, limits Limits, inflate func(io.Reader) (io.Reader, error)) ([]manifest.Type, error) {
	a, err := open(s, path, limits, nil)
	if err != nil {
		return nil, err
	}
	defer a.file.Close()
	a.inflate = inflate
	c := checker{stream: a}
	for c.manifest == nil {
		name, k, err := c.next()
		if errors.Is(err, io.EOF) {
			return nil, c.noManifest()
		}
		if err != nil {
			return nil, err
		}
		if name == manifest.FileName {
			if err := c.takeManifest(k); err != nil {
				return nil, err
			}
		}
	}
	types, err := manifest.ParseTypes(c.manifest)
	if err != nil {
		return nil, c.badManifest(err)
	}
	return types, nil
}
