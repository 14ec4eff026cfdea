package project

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
)

// DeltaFile is the delta of a change for one capability.
type DeltaFile struct {
	ID     string
	Source string // the unchanged content of the file
	Parsed *delta.Delta
}

// Facts returns what the validation of the delta needs.
func (f DeltaFile) Facts() *validation.DeltaFacts {
	facts := validation.DeltaFactsOf(markdown.ParseAny(f.Source), f.Parsed)
	return &facts
}

// ReadDeltas reads all delta files of a change, sorted by capability. The result loose contains the paths of the other
// files in the directory specs of the change.
func ReadDeltas(c store.Change) (files []DeltaFile, loose []string, err error) {
	ids, loose, err := c.Deltas()
	if err != nil {
		return nil, nil, err
	}
	files = make([]DeltaFile, 0, len(ids))
	for _, id := range ids {
		file, err := ReadDelta(c, id)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, file)
	}
	return files, loose, nil
}

// ReadDelta reads the delta of a change for one capability.
func ReadDelta(c store.Change, id string) (DeltaFile, error) {
	source, _, err := c.ReadDelta(id)
	if err != nil {
		return DeltaFile{}, err
	}
	return DeltaFile{id, source, delta.Parse(markdown.ParseAny(source))}, nil
}

// MisplacedDeltas returns those loose files of a change that contain delta sections. Such sections have no effect in
// these files.
func MisplacedDeltas(c store.Change, loose []string) ([]validation.Misplaced, error) {
	var found []validation.Misplaced
	for _, path := range loose {
		if !strings.EqualFold(filepath.Ext(path), ".md") || filepath.Base(path) == "spec.md" {
			continue
		}
		source, _, err := c.ReadLoose(path)
		if err != nil {
			return nil, err
		}
		if len(delta.Parse(markdown.ParseAny(source)).Sections) > 0 {
			found = append(found, validation.Misplaced{Path: path, Expected: expected(path)})
		}
	}
	return found, nil
}

// expected returns the correct path for a misplaced delta. Both paths are relative to the directory specs of the
// change.
func expected(file string) string {
	if dir := path.Dir(file); dir != "." {
		return dir + "/spec.md"
	}
	return strings.TrimSuffix(file, path.Ext(file)) + "/spec.md"
}
