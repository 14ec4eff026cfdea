// Package pages has the pages of `bulkhead ui`. Start with Of. What a page shows comes from a package that knows no HTML, such as grants: here are
// only queries, links, drawings and templates. Each page is a function that returns it, with its template beside it in the file of the same name.
// What changes a grant is shown as a command or as lines of the config.
package pages

import (
	_ "embed"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/ui"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// The templates of the pages. Those that use parts get its text, too.
var (
	//go:embed parts.html
	parts string
	//go:embed grants.html
	grantsTemplate string
	//go:embed line.html
	lineTemplate string
	//go:embed narrow.html
	narrowTemplate string
	//go:embed live.html
	liveTemplate string
	//go:embed history.html
	historyTemplate string
	//go:embed plugins.html
	pluginsTemplate string
	//go:embed doctor.html
	doctorTemplate string
)

// Of returns the pages of an installation, in the order of their links. The first is the start page.
func Of(o discovery.Options) []ui.Page {
	o.Log = nil // what would be logged is shown
	return []ui.Page{grantsPage(o), livePage(o), historyPage(o), pluginsPage(o), doctorPage(o), linePage(o), narrowPage(o)}
}
