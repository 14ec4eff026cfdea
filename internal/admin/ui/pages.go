package ui

import "github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"

// Pages returns the pages of an installation, in the order of their links. The first is the start page.
func Pages(o discovery.Options) []Page {
	return []Page{doctorPage(o), historyPage(o)}
}
