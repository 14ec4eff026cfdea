package lockfile

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

// LoadPackages is Load for calls that only list packages: entries have no dependencies and file checksums. The host keeps
// the entries while the file is unchanged.
func LoadPackages(s files.System, project string) (*Lock, error) {
	if kept, ok := files.Derived(s, summaries, project, Path(project)); ok && kept.valid {
		return &Lock{Packages: kept.packages}, nil
	}
	return Load(s, project)
}

// summaries is run by the host, once for each content.
var summaries = derive.New(summarize)

// summary is derived from the content of a lock file.
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
