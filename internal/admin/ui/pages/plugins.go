package pages

import (
	"context"
	"net/url"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/installed"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/ui"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// pluginsPage shows what is installed, pinned and signed.
func pluginsPage(o discovery.Options) ui.Page {
	return ui.Page{Path: "/plugins", Title: "Plugins", Template: pluginsTemplate + parts, Model: func(context.Context, url.Values) (any, error) { return installed.List(o) }}
}
