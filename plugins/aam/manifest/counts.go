package manifest

import (
	"iter"
	"path"

	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// Counts holds the number of a package's artifacts of each type, in the order of Types.
type Counts [4]int

// Total returns the number of artifacts of all types together.
func (c Counts) Total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}

// Counts returns the number of the manifest's artifacts of each type.
func (m *Manifest) Counts() Counts {
	var counts Counts
	for i, t := range Types() {
		counts[i] = len(m.Of(t))
	}
	return counts
}

// summaries computes the summary of a manifest. The host calls it once for each content of the file.
var summaries = derive.New(summarize)

// summary holds the data that the host caches about a manifest.
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

// AllCounts returns the artifact counts of all packages whose directories are in dir. The keys are the names of these
// directories. The host reads all manifests in one operation, and caches the counts until a manifest changes. AllCounts
// omits a package if its manifest is invalid, cannot be read, or is reached through a symbolic link. For such a
// package, Load returns the manifest or the error.
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
