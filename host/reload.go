package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// Reload reads the config, the plugins and the trust records again, by the rules of Open. On success, further calls use the result,
// and clients are notified of the lists that changed; calls in flight end with the version with which they began. On an error, such
// as a plugin that has become faulty, Reload changes nothing, logs the error and returns it. If the user can correct the error, it
// is a *UsageError. If the user has to trust the change, the error contains an *UntrustedError.
//
// Reload keeps the worker of a plugin whose manifest, module, grant and limits have not changed.
func (h *Host) Reload(ctx context.Context) error {
	if err := h.lock(ctx); err != nil {
		return err
	}
	defer h.unlock()
	h.http.readCredentials()
	h.rejectedReason = "" // makes an error that was logged before appear in the log again
	return h.reloadLocked(ctx, hclog.Info)
}

// reloadLocked implements Reload; unchanged is the level at which it logs that nothing has changed.
func (h *Host) reloadLocked(ctx context.Context, unchanged hclog.Level) error {
	if h.ended.Err() != nil {
		return errors.New("the host is closed")
	}
	h.rejected = nil
	err := h.reload(ctx, unchanged)
	if err == nil {
		h.rejectedReason = ""
		return nil
	}
	reason := reasonOf(err)
	if reason == h.rejectedReason { // if files change often, the same error is logged only once
		h.options.Log.Log(unchanged, notChanged)
	} else {
		h.options.Log.Error("a change of the configuration is rejected, and the previous configuration stays in force", "reason", reason)
		h.dispatcher.RecordEvent(audit.Record{Kind: audit.KindPolicy, Method: "change", Outcome: audit.Denied, Reason: reason})
		h.gateway.Warn("bulkhead", "a change of the configuration is rejected, and the previous configuration stays in force: "+reason)
	}
	h.rejectedReason = reason
	return errors.Join(err, h.readmit(ctx))
}

// readmit ends the service of plugins that may not be served any more, such as revoked ones, after a change was rejected: an error elsewhere
// must not keep them.
func (h *Host) readmit(ctx context.Context) error {
	old := h.catalog()
	found, refused := old.Readmit()
	h.keepRevocations(ctx, found)
	if !refused {
		return nil
	}
	projects, err := h.completeCatalogs(catalog.New(found))
	if err != nil {
		return err
	}
	return h.apply(ctx, old, projects)
}

const notChanged = "the configuration was read again, and has not changed"

// reasonOf returns the text of an error in one line.
func reasonOf(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n  remedy: ", "; remedy: ")), " ")
}

func (h *Host) reload(ctx context.Context, unchanged hclog.Level) error {
	old := h.catalog()
	found, err := discovery.FindForReload(h.reloadOptions(old))
	if err != nil {
		h.rejected = discovery.WatchedAfter(err)
		return err
	}
	h.rejected = found.Watched()
	h.keepRevocations(ctx, found)
	switch {
	case found.Untrusted != nil && !isRevoked(old, found.Untrusted):
		return &UsageError{Err: found.Untrusted}
	case old.Config != "" && old.Invalid == nil && found.Config == "" && found.Untrusted == nil:
		return usage.Errorf("%s: this config no longer exists: restore the file, or start the server again to serve without a config", old.Config)
	}
	if err := errors.Join(h.http.allows(found), h.checkAuditOutput(found)); err != nil {
		return err
	}
	next := catalog.New(found)
	projects, err := h.completeCatalogs(next)
	if err != nil {
		return err
	}
	if h.sameCatalogs(projects) {
		if err := h.claim(ctx, projects); err != nil { // a directory at the same path may be a new one
			return err
		}
		h.rejected = nil
		h.options.Log.Log(unchanged, notChanged)
		return nil
	}
	for _, c := range projects {
		if before := h.projectCatalog(c.Project); before != nil {
			err = errors.Join(err, newFaults(before, c))
		}
	}
	if err := errors.Join(err, wrongModules(old, next)); err != nil {
		return &UsageError{Err: err}
	}
	observed := h.prepareMetrics(found)
	if err := h.claim(ctx, projects); err != nil { // late, since what was claimed stays so
		observed.abort()
		return err
	}
	if err := h.apply(ctx, old, projects); err != nil {
		observed.abort()
		return err
	}
	observed.commit()
	h.rejected = nil
	if next.ServesSame(old) { // only messages that name a line differ
		h.options.Log.Log(unchanged, notChanged)
	}
	return nil
}

// apply serves the complete Catalogs of projects, of which the first is that of the server's own, in the place of old and its projects.
func (h *Host) apply(ctx context.Context, old *catalog.Catalog, projects []*catalog.Catalog) error {
	served, err := h.prepareViews(projects)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	executed, err := h.dispatcher.Prepare(served.catalogs...)
	if err != nil {
		return err
	}
	h.dispatcher.Apply(executed)
	h.applyViews(served)
	if next := projects[0]; !next.ServesSame(old) {
		h.dispatcher.RecordEvent(audit.Record{Kind: audit.KindPolicy, Method: "change", Outcome: audit.OK})
		h.reportChange(old, next)
	}
	return nil
}

// keepRevocations keeps the lists of revoked plugins that are in force, so that older ones are refused. Without that, they are in force
// nevertheless.
func (h *Host) keepRevocations(ctx context.Context, found *discovery.Found) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // another process may hold the lock of their directory
	defer cancel()
	if err := found.KeepRevocations(ctx); err != nil {
		h.options.Log.Warn("a list of revoked plugins is not kept, so an older one would be accepted later", "reason", err.Error())
	}
}

// isRevoked reports whether the user has withdrawn trust from the config or the plugins that are served, so that serving them must end.
// If only the content has changed, the trust record has a different digest, and serving the old content may continue.
func isRevoked(old *catalog.Catalog, not *UntrustedError) bool {
	if !not.Since.IsZero() || not.Reason != nil {
		return false
	}
	if not.Plugins {
		return old.Config == "" && slices.ContainsFunc(old.Candidates, func(c discovery.Candidate) bool {
			return filepath.Dir(c.Entry.Path) == not.Path || c.Entry.Path == not.Path // Path may be the directory of a single plugin, or contain the directories of several
		})
	}
	return old.Config == not.Path
}

// reloadOptions returns the options of Open, with the project that Open found: the value of ${project} does not change while the host
// runs.
func (h *Host) reloadOptions(old *catalog.Catalog) Options {
	o := h.options
	if o.Project == "" {
		o.Project = old.Places.Project
	}
	return o
}

// newFaults returns an error for each plugin of next that is left out because of an error. It skips plugins that old leaves out too, and those
// that may not be served at all.
func newFaults(old, next *catalog.Catalog) error {
	var errs []error
	for _, p := range next.Plugins {
		if !p.IsFaulty() || p.Refused { // to end the service of a refused plugin is the purpose of the change
			continue
		}
		known := slices.ContainsFunc(old.Plugins, func(before *catalog.Plugin) bool {
			return before.IsFaulty() && before.Name == p.Name && before.Entry.SamePlace(p.Entry)
		})
		if !known {
			errs = append(errs, fmt.Errorf("plugin %s: %s", p.Name, p.Problem))
		}
	}
	return errors.Join(errs...)
}

// wrongModules returns an error for each plugin of next whose module does not have the digest that its manifest states. It reads only
// modules that were replaced, or whose manifests have changed: an update may replace the module and the manifest one after the other.
func wrongModules(old, next *catalog.Catalog) error {
	var errs []error
	for _, p := range next.Plugins {
		known := slices.ContainsFunc(old.Plugins, func(before *catalog.Plugin) bool { return p.Equal(before) && p.HasModuleOf(before) })
		if known || p.Problem != "" || p.Manifest.Module.SHA256 == "" {
			continue
		}
		if err := code.CheckDigest(p.Manifest.ModuleFile(), p.Manifest.Module.SHA256); err != nil {
			errs = append(errs, fmt.Errorf("plugin %s: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}

// reportChange logs which plugins were added, removed or changed, and the warnings about them.
func (h *Host) reportChange(old, next *catalog.Catalog) {
	names := func(in, notIn *catalog.Catalog) []string {
		names := []string{}
		for _, p := range in.Plugins {
			if notIn.Plugin(p.Name) == nil {
				names = append(names, p.Name)
			}
		}
		return names
	}
	changed := []string{}
	for _, p := range next.Plugins {
		before := old.Plugin(p.Name)
		if before != nil && !p.Equal(before) && (p.Problem == "" || p.Problem != before.Problem) {
			changed = append(changed, p.Name)
		}
	}
	if next.Untrusted != nil {
		h.options.Log.Error(next.Untrusted.Error())
	}
	if next.Invalid != nil {
		h.options.Log.Error(next.Invalid.Error())
	}
	if next.NoPlugins != nil && h.options.Development == nil {
		h.options.Log.Error(next.NoPlugins.Error())
	}
	next.Report()
	next.WarnOfUnusedEnv()
	level := hclog.Info
	if h.options.Development != nil { // package dev reports each build
		level = hclog.Debug
	}
	h.options.Log.Log(level, "the configuration was reloaded", "added", names(next, old), "removed", names(old, next), "changed", changed)
}
