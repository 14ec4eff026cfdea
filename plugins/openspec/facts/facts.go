// Package facts defines the functions that derive data from single files. The host caches the data until the file
// changes.
//
//	for entry, err := range facts.Specs.Scan(dir, facts.SpecFiles) {
package facts

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

var (
	// Specs derives the facts of a main spec from the content of its file.
	Specs = derive.New(func(content []byte) validation.SpecFacts {
		return validation.SpecFactsOf(spec.NewMain(string(content)))
	})
	// Files derives the facts of a file of a change from the content of the file.
	Files = derive.New(fileOf)
)

// File holds the facts of a file of a change. One function derives all of these facts, because a scan can run only one
// function, and that function does not receive the name of the file.
type File struct {
	Tasks change.TaskFacts
	// Metadata or Delta is nil if the content does not look like a file of that kind. The caller then has to parse the
	// file.
	Metadata *change.MetadataFacts
	Delta    *validation.DeltaFacts
}

func fileOf(content []byte) File {
	source := string(content)
	f := File{Tasks: change.TaskFactsOf(source)}
	if !strings.HasPrefix(source, "##") && !strings.Contains(source, "\n##") {
		found := change.MetadataFactsOf(source)
		f.Metadata = &found
	} else if strings.Contains(source, "equirement") {
		found := Delta(source)
		f.Delta = &found
	}
	return f
}

// Memory returns an estimate of the memory that the facts take, in bytes.
func (f *File) Memory() int {
	const own, each = 256, 64
	n := own + each*len(f.Tasks.Numbered)
	for _, task := range f.Tasks.Numbered {
		n += len(task.ID) + len(task.Group)
	}
	if f.Metadata != nil {
		n += own
	}
	if f.Delta != nil {
		n += f.Delta.Memory()
	}
	return n
}

// Delta returns the facts of a delta file with the given source.
func Delta(source string) validation.DeltaFacts {
	text := markdown.ParseAny(source)
	return validation.DeltaFactsOf(text, delta.Parse(text))
}

// Fields implements derive.Fielder.
func (f *File) Fields(c *derive.Codec) {
	f.Tasks.Fields(c)
	derive.Optional(c, &f.Metadata, func(m *change.MetadataFacts) { m.Fields(c) })
	derive.Optional(c, &f.Delta, func(d *validation.DeltaFacts) { d.Fields(c) })
}
