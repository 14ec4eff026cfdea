package store

import (
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// tempPattern is the name of temporary files, which are in the project's directory.
const tempPattern = ".tmp-*"

// options returns the options for writing files of the project.
func (p *Project) options() atomicfile.Options {
	return atomicfile.Options{FS: p.files, Mode: 0o600, Pattern: tempPattern, TempDir: p.dir}
}

// maxJoined is the size in bytes up to which the parts of a file are copied into one buffer. In a module a copy costs
// less than a second write.
const maxJoined = 64 << 10

// joined returns the parts of a file, concatenated if they are small.
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

// put atomically replaces the file at path.
func (p *Project) put(path string, parts ...[]byte) error {
	file, err := atomicfile.New(path, p.options())
	if err != nil {
		return err
	}
	for _, part := range joined(parts...) {
		_, _ = file.Write(part) // Replace returns the error
	}
	return file.Replace()
}

// sweepAge is the age at which temporary files are removed. No call in progress can have files of that age.
const sweepAge = time.Hour

// maxSwept bounds the number of other projects that one write searches for temporary files.
const maxSwept = 16

// sweep removes temporary files and directories of interrupted calls: those in the project's directory, which the
// argument "left" lists, those beside the project, and those in other projects, because these may never be written
// again. It ignores errors, because leftovers are harmless.
func (p *Project) sweep(left []fs.DirEntry) {
	_ = atomicfile.SweepEntries(p.dir, left, sweepAge, p.options())
	var others []string
	for _, workspace := range p.sweepIn(filepath.Dir(filepath.Dir(p.dir))) {
		others = append(others, p.sweepIn(workspace)...)
	}
	others = slices.DeleteFunc(others, func(dir string) bool { return dir == p.dir })
	if len(others) > maxSwept {
		first := int(time.Now().UnixNano()/1000) % len(others) // math/rand returns the same numbers in each call of a module
		others = append(others[first:], others[:first]...)[:maxSwept]
	}
	for _, dir := range others {
		p.sweepIn(dir)
	}
}

// sweepIn removes old temporary files from a directory, and returns its subdirectories that belong to the store.
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
