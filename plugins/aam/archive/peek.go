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

// Peeker reads the manifests of archives. The zero value is ready to use. A Peeker uses the same buffers for all
// archives.
type Peeker struct {
	buffer   *bufio.Reader
	inflater *gzip.Reader
	quick    io.ReadCloser // the decompressor of inflateBeginning, which also implements flate.Resetter
}

// maxPeek is the maximum number of inflated bytes that a Peeker reads of one archive. The aam program and this plugin
// write the manifest as one of the first members.
const maxPeek = 16 << 20

// readSize is the size of the read buffer, in bytes. In a WebAssembly module each read is a call to the host.
const readSize = 32 << 10

// buffered returns a buffered reader of from.
func (p *Peeker) buffered(from io.Reader) *bufio.Reader {
	if p.buffer == nil {
		p.buffer = bufio.NewReaderSize(from, readSize)
	}
	p.buffer.Reset(from)
	return p.buffer
}

// inflate returns a reader that decompresses the gzip stream from.
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

// dictionary is a preset dictionary that fills the first 24 KiB of the decompressor's window. The decompressor returns
// data only when its window of 32 KiB is full. So with the dictionary it returns the first bytes after 8 KiB. No valid
// stream refers to the dictionary.
var dictionary = make([]byte, 24<<10)

var errNotSimple = errors.New("unsupported gzip header")

// inflateBeginning returns a reader that decompresses a gzip stream as that of inflate does. The reader returns the
// first bytes earlier and does not verify checksums. It supports only streams of one gzip member whose header has no
// optional field other than a file name.
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

// Types opens the archive at path with s, and returns the types of the artifacts in the manifest of the archive. It
// does not read the archive beyond the manifest. The result is for display only: Types validates neither the manifest
// nor the archive, and a later duplicate of the manifest, which an extraction would use, is not read.
//
// Errors have the code ArchiveInvalid or ManifestInvalid.
func (p *Peeker) Types(s opener, path string, limits Limits) ([]manifest.Type, error) {
	limits.Inflated = min(limits.Inflated, maxPeek)
	if types, err := p.types(s, path, limits, p.inflateBeginning); err == nil {
		return types, nil
	}
	return p.types(s, path, limits, p.inflate)
}

// types does the work of Types, and decompresses the archive with the function inflate.
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
