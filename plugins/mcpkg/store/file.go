package store

import (
	"io/fs"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// tempPattern names what is not finished; it lies in the project's directory.
const tempPattern = ".tmp-*"

// options says how the project's files are written.
func (p *Project) options() atomicfile.Options {
	return atomicfile.Options{FS: p.files, Mode: 0o600, Pattern: tempPattern, TempDir: p.dir}
}

// put writes a file at path atomically and durably, in place of the one that is there.
func (p *Project) put(path string, parts ...[]byte) error {
	file, err := atomicfile.New(path, p.options())
	if err != nil {
		return err
	}
	for _, part := range parts {
		_, _ = file.Write(part) // Replace returns the error
	}
	return file.Replace()
}

// sweepAge is the age at which an unfinished file is removed: no call lasts as long.
const sweepAge = time.Hour

// sweep removes what interrupted calls left. What it cannot remove does no harm.
func (p *Project) sweep(left []fs.DirEntry) {
	_ = atomicfile.SweepEntries(p.dir, left, sweepAge, p.options())
}
