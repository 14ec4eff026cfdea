package store

import (
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// tempPattern is the pattern for the names of temporary files, which are in the project's directory.
const tempPattern = ".tmp-*"

// options returns the options with which atomicfile writes files of the project.
func (p *Project) options() atomicfile.Options {
	return atomicfile.Options{FS: p.files, Mode: 0o600, Pattern: tempPattern, TempDir: p.dir}
}

// maxJoined is the size in bytes up to which put copies the parts of a file into one buffer. In a WebAssembly module
// the copy costs less than a second write.
const maxJoined = 64 << 10

// joined returns the parts of a file. If the parts are small in total, joined concatenates them to one part.
func joined(parts ...[]byte) [][]byte {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if size > maxJoined {
		return parts
	}
	return [][]byte{slices.Concat(parts...)}
}

// put atomically replaces the content of the file at path by the given parts.
func (p *Project) put(path string, parts ...[]byte) error {
	file, err := atomicfile.New(path, p.options())
	if err != nil {
		return err
	}
	for _, part := range joined(parts...) {
		_, _ = file.Write(part) // Replace returns the error of a failed write
	}
	return file.Replace()
}

// sweepAge is the age at which sweep removes a temporary file. No call that is still running can have a file of that
// age.
const sweepAge = time.Hour

// maxSwept is the maximum number of other projects in which one write looks for temporary files.
const maxSwept = 16

// sweep removes temporary files and directories that interrupted calls left behind. It removes those in the project's
// directory, which the argument "left" lists, those beside the project's directory, and those in other projects, because
// another project may never be written again. sweep ignores errors, because the leftover files are harmless.
func (p *Project) sweep(left []fs.DirEntry) {
	_ = atomicfile.SweepEntries(p.dir, left, sweepAge, p.options())
	var others []string
	for _, workspace := range p.sweepIn(filepath.Dir(filepath.Dir(p.dir))) {
		others = append(others, p.sweepIn(workspace)...)
	}
	others = slices.DeleteFunc(others, func(dir string) bool { return dir == p.dir })
	if len(others) > maxSwept {
		first := int(time.Now().UnixNano()/1000) % len(others) // math/rand returns the same numbers in each call of a module, so the time replaces a random number
		others = append(others[first:], others[:first]...)[:maxSwept]
	}
	for _, dir := range others {
		p.sweepIn(dir)
	}
}

// sweepIn removes old temporary files from the directory dir, and returns the subdirectories of dir that belong to the
// store.
func (p *Project) sweepIn(dir string) (inside []string) {
	entries, err := p.files.ReadDir(dir)
	if err != nil {
		return nil
	}
	_ = atomicfile.SweepEntries(dir, entries, sweepAge, p.options())
	for _, e := range entries {
		if e.IsDir() && isKey(e.Name()) {
			inside = append(inside, filepath.Join(dir, e.Name()))
		}
	}
	return inside
}
