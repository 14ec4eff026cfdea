package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
)

// Reload reads the config, the plugins and the trust records again, by the rules of Open. If there is no error, it applies
// the change to further calls, and notifies clients of the lists that changed; calls in flight end with what they began
// with. If there is an error, which Open may tolerate by leaving a plugin out, Reload changes nothing and returns it. It is
// a *UsageError if a user can correct it, and contains an *UntrustedError if the user has to trust the change.
//
// Workers of plugins whose manifest, module, grant and limits have not changed are kept.
func (h *Host) Reload(ctx context.Context) error {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	if h.closed {
		return errors.New("the host is closed")
	}
	err := h.reload(ctx)
	if err != nil {
		reason := strings.Join(strings.Fields(err.Error()), " ")
		h.options.Log.Error("a change is rejected, and what was served before stays in force", "reason", reason)
		h.gateway.Warn("bulkhead", "a change of the configuration is rejected, and the one before stays in force: "+reason)
	}
	return err
}

func (h *Host) reload(ctx context.Context) error {
	found, err := discovery.Find(h.options)
	if err != nil {
		return err
	}
	old := h.catalog()
	if found.Untrusted != nil {
		return &UsageError{Err: found.Untrusted}
	}
	if old.Config != "" && found.Config == "" {
		return discovery.UsageErrorf("%s: there is no such file any more: restore it, or start the server again to serve without a config", old.Config)
	}
	next := catalog.New(found)
	if err := newFaults(old, next); err != nil {
		return err
	}
	served, err := next.PrepareUpdate(h.gateway, old)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	executed, err := h.dispatcher.Prepare(next)
	if err != nil {
		return err
	}
	// The dispatcher first: whatever a client finds in a list can be called.
	h.dispatcher.Apply(executed)
	h.gateway.Apply(served)
	next.Report()
	next.WarnOfUnusedEnv()
	h.options.Log.Info("the configuration was reloaded", "plugins", len(next.Plugins))
	return nil
}

// newFaults returns an error for the plugins of next that are left out because of an error, except for those that old
// leaves out too.
func newFaults(old, next *catalog.Catalog) error {
	var errs []error
	for _, p := range next.Plugins {
		if !p.IsFaulty() {
			continue
		}
		known := slices.ContainsFunc(old.Plugins, func(before *catalog.Plugin) bool {
			return before.IsFaulty() && before.Name == p.Name && before.Entry.Path == p.Entry.Path
		})
		if !known {
			errs = append(errs, fmt.Errorf("plugin %s: %s", p.Name, p.Problem))
		}
	}
	if len(errs) > 0 {
		return &UsageError{Err: errors.Join(errs...)}
	}
	return nil
}
