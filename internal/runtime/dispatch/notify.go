package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

const (
	methodProgress = "notifications/progress"
	methodMessage  = "notifications/message"

	// Methods of the notifications that a call may send about changes.
	methodPromptsChanged   = "notifications/prompts/list_changed"
	methodResourcesChanged = "notifications/resources/list_changed"
	methodResourceUpdated  = "notifications/resources/updated"
)

// pluginNotifier sends the notifications of one call of a plugin. It accepts a notification of a change only if the manifest declares
// such notifications in [offers], and only for the plugin's own lists and resources.
type pluginNotifier struct {
	gateway.Notifier
	plugin  *plugin
	reports int // number of notifications that reportStart has sent
}

// Notify implements gateway.Notifier.
func (v *pluginNotifier) Notify(ctx context.Context, method string, params json.RawMessage) error {
	switch offers := v.plugin.Manifest.Offers; method {
	case methodProgress:
		if v.reports > 0 && v.isStale(params) {
			return nil
		}
	case methodPromptsChanged, methodResourcesChanged:
		if !offers.ListChanged {
			return fmt.Errorf("%s: the manifest does not declare this notification: set list_changed = true in [offers]", method)
		}
	case methodResourceUpdated:
		uri, _ := rawjson.Unquote(rawjson.Member(params, "uri"))
		switch {
		case !json.Valid(params):
		case !offers.Subscribe:
			return fmt.Errorf("%s: the manifest does not declare this notification: set subscribe = true in [offers]", method)
		case uri != "" && !v.plugin.view.catalog.Serves(v.plugin.Plugin, uri):
			return fmt.Errorf("%s: %q is not a resource of this plugin", method, uri)
		}
	}
	return v.Notifier.NotifyOf(ctx, v.plugin, method, params)
}

// VisibleTo implements gateway.Source: a change is visible to the views of the project in which the plugin's module may see whatever it
// sees in the view of the call.
func (p *plugin) VisibleTo(b gateway.Backend, uri string) bool {
	if outer, ok := b.(interface{ Unwrap() gateway.Backend }); ok {
		b = outer.Unwrap()
	}
	other, ok := b.(*Backend)
	if !ok {
		return false
	}
	v := p.dispatcher.current.Load().view(other.key)
	if v == nil || v.catalog.Places != p.view.catalog.Places {
		return false
	}
	return slices.ContainsFunc(v.plugins, func(there *plugin) bool {
		return there.SeesAllOf(p.Plugin) && (uri == "" || v.catalog.Serves(there.Plugin, uri))
	})
}

// startProgress is the amount by which each notification of reportStart increases the progress. MCP requires that progress increases
// with each notification, and modules usually count from 0 or 1.
const startProgress = 1e-6

// maxStartProgress is more than the progress of any start report.
const maxStartProgress = 1e-3

// The texts of start reports begin with one of these.
const (
	startingPlugin  = "starting plugin "
	compilingModule = "compiling the module of plugin "
)

// IsStartReport reports whether a notification says that a call waits for its worker process. Tests of plugins ignore such notifications,
// since the load of the machine decides whether there are any.
func IsStartReport(method string, params []byte) bool {
	member := ""
	switch method {
	case methodProgress:
		if progress, err := strconv.ParseFloat(string(rawjson.Member(params, "progress")), 64); err != nil || progress >= maxStartProgress {
			return false
		}
		member = "message"
	case methodMessage:
		member = "data"
	default:
		return false
	}
	text, _ := rawjson.Unquote(rawjson.Member(params, member))
	return strings.HasPrefix(text, startingPlugin) || strings.HasPrefix(text, compilingModule)
}

// reportStart tells the client that the call waits for its worker process. It sends a progress notification, and the first time also
// a log message. It must not be called while the module runs the call.
func (v *pluginNotifier) reportStart(ctx context.Context) {
	text := startingPlugin + v.plugin.Name
	if v.plugin.runner.compiling.Load() > 0 {
		text = compilingModule + v.plugin.Name + ", which happens once for each version"
	}
	quoted := string(rawjson.Quote(text))
	// The client may have requested neither notification. An error means that the call has ended.
	if v.reports == 0 {
		_ = v.Notifier.Notify(ctx, methodMessage, json.RawMessage(`{"level":"info","logger":"bulkhead","data":`+quoted+`}`))
	}
	v.reports++
	progress := strconv.FormatFloat(float64(v.reports)*startProgress, 'f', 6, 64)
	_ = v.Notifier.Notify(ctx, methodProgress, json.RawMessage(`{"progress":`+progress+`,"message":`+quoted+`}`))
}

// isStale reports whether the progress in params does not exceed the progress that reportStart has sent.
func (v *pluginNotifier) isStale(params json.RawMessage) bool {
	progress, err := strconv.ParseFloat(string(rawjson.Member(params, "progress")), 64)
	return err == nil && progress <= float64(v.reports)*startProgress
}
