package lockfile

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

// LoadPackages reads a lock file as Load does, for calls that only list packages. Its entries have no dependencies and
// no file checksums. The host caches the entries until the file changes.
func LoadPackages(s files.System, project string) (*Lock, error) {
	if kept, ok := files.Derived(s, summaries, project, Path(project)); ok && kept.valid {
		return &Lock{Packages: kept.packages}, nil
	}
	return Load(s, project)
}

// summaries computes the summary of a lock file. The host calls it once for each content of the file.
var summaries = derive.New(summarize)

// summary holds the data that the host caches about a lock file.
type summary struct {
	valid    bool
	packages []Entry
}

func summarize(data []byte) summary {
	lock, err := Parse(data)
	if err != nil {
		return summary{}
	}
	return summary{true, lock.Packages}
}

// Fields implements derive.Fielder.
func (s *summary) Fields(c *derive.Codec) {
	c.Bool(&s.valid)
	derive.List(c, &s.packages)
}

// Fields implements derive.Fielder. It omits the fields that LoadPackages leaves empty.
func (e *Entry) Fields(c *derive.Codec) {
	c.String(&e.Name)
	c.String(&e.Version)
	c.String(&e.Source)
	c.String(&e.Checksum)
	derive.Optional(c, &e.SourceName, c.String)
	derive.Optional(c, &e.SourceCommit, c.String)
}
