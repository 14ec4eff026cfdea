package ui

import "github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"

// Pages returns the pages of an installation, in the order of their links. The first is the start page.
func Pages(o discovery.Options) []Page {
	o.Log = nil // what would be logged is shown
	return []Page{grantsPage(o), livePage(o), historyPage(o), pluginsPage(o), doctorPage(o), linePage(o), narrowPage(o)}
}
