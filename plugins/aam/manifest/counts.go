package manifest

import (
	"iter"
	"path"

	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// Counts is the number of a package's artifacts by type, in the order of Types.
type Counts [4]int

// Total returns the number of artifacts of all types.
func (c Counts) Total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}

// Counts returns the number of artifacts by type.
func (m *Manifest) Counts() Counts {
	var counts Counts
	for i, t := range Types() {
		counts[i] = len(m.Of(t))
	}
	return counts
}

// summaries is run by the host, once for each content.
var summaries = derive.New(summarize)

// summary is derived from the content of a manifest.
type summary struct {
	valid  bool
	counts Counts
}

func summarize(data []byte) summary {
	m, err := Parse(data)
	if err != nil {
		return summary{}
	}
	return summary{true, m.Counts()}
}

// Fields implements derive.Fielder.
func (s *summary) Fields(c *derive.Codec) {
	c.Bool(&s.valid)
	for i := range s.counts {
		c.Int(&s.counts[i])
	}
}

// AllCounts returns the artifact counts of the packages whose directories are in dir, by the names of these
// directories. The host reads the manifests, in one operation, and keeps the counts while a manifest is unchanged.
// AllCounts leaves out packages whose manifest is invalid, cannot be read, or is reached by a symbolic link; for these,
// Load returns the manifest or the error.
func AllCounts(dir string) iter.Seq2[string, Counts] {
	return func(yield func(string, Counts) bool) {
		options := scan.Options{Depth: 2, Match: []string{FileName}, Skip: []string{".*"}, MaxFile: MaxSize}
		for entry, err := range summaries.Scan(dir, options) {
			if err != nil {
				return
			}
			if folder, name := path.Split(entry.Path); folder == "" || name != FileName || !entry.Value.valid {
				continue
			} else if !yield(path.Clean(folder), entry.Value.counts) {
				return
			}
		}
	}
}
