package store

import (
	"io/fs"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// tempPattern is the name of temporary files, which are in the project's directory.
const tempPattern = ".tmp-*"

// options are those for all files of the project.
func (p *Project) options() atomicfile.Options {
	return atomicfile.Options{FS: p.files, Mode: 0o600, Pattern: tempPattern, TempDir: p.dir}
}

// put atomically replaces the file at path.
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

// sweepAge is the age at which temporary files are removed: no call lasts as long.
const sweepAge = time.Hour

// sweep removes temporary files of interrupted calls. Those that it cannot remove do no harm.
func (p *Project) sweep(left []fs.DirEntry) {
	_ = atomicfile.SweepEntries(p.dir, left, sweepAge, p.options())
}
