package remedy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Operations on files by what they need. Others, such as file/open, read or write.
var (
	fileReads  = []string{"file/stat", "file/lstat", "file/readlink", "file/scan", abi.OpFSScan}
	fileWrites = []string{"file/mkdir", "file/chmod", "file/utimens", "file/unlink", "file/rmdir", "file/symlink", "file/link", "file/rename", abi.OpLock}
	ofTwoPaths = []string{"file/symlink", "file/link", "file/rename"}
	ofFolders  = []string{"file/scan", abi.OpFSScan, abi.OpLock} // whose path is that of a directory
)

// path explains a path. Only a directory outside of all granted ones, and one that is granted read-only, can be granted by fs.
func (s *subject) path() Remedy {
	op, target := s.refused.Op, filepath.Clean(s.refused.Target)
	answers, err := explain.UntrustedPaths(s.finder.view, s.about, target)
	if err != nil {
		return Remedy{}
	}
	decisive := answers[1] // of writing
	if !answers[0].Allowed || slices.Contains(fileReads, op) {
		decisive = answers[0]
	}
	switch {
	case decisive.Allowed && slices.Contains(ofTwoPaths, op):
		return Remedy{Why: "this path is granted now: the other path of the operation may not be", isGranted: true}
	case decisive.Allowed:
		return granted(decisive.Why)
	}
	found := Remedy{Why: decisive.Why, At: decisive.At}
	dir := filepath.Dir(target)
	if slices.Contains(ofFolders, op) {
		dir = target
	}
	switch rule := sandbox.Rule(decisive.Rule); {
	case rule == sandbox.RuleOutside && decisive.Mount == "":
		access := manifest.Read
		if slices.Contains(fileWrites, op) || s.toolWrites() { // which may look at a file before it writes it
			access = manifest.ReadWrite
		}
		if s.allowDirectory(&found, dir, access, target); found.Key == "fs" && access == manifest.ReadWrite && !slices.Contains(fileWrites, op) {
			found.Why += `, and "r" suffices if the tool only reads there`
		}
	case rule == sandbox.RuleReadOnly && contain.Within(decisive.Mount, target):
		if decisive.Asked == target && contain.Within(decisive.Mount, dir) && !slices.ContainsFunc(s.whole.Grant.Deny, isOfPath) {
			s.allowDirectory(&found, dir, manifest.ReadWrite, target)
		}
		if found.Key == "" {
			s.allowDirectory(&found, decisive.Mount, manifest.ReadWrite, target)
		}
	}
	return found
}

// toolWrites reports whether the tool that was called is one that writes.
func (s *subject) toolWrites() bool {
	if offerOf(s.refused.Method) != offersTools {
		return false
	}
	t, _ := s.toolRule()
	return t != nil && t.Write
}

// isOfPath reports whether a grant of a directory in a granted one may show what the pattern hides, since patterns are relative to each of them.
func isOfPath(pattern string) bool { return strings.Contains(strings.TrimPrefix(pattern, "**/"), "/") }

// allowDirectory sets the key that would grant access to a directory, and with it to target. It sets none if that would not suffice, and
// suggests no directory of the host and none that contains all of the user's files.
func (s *subject) allowDirectory(r *Remedy, dir string, access manifest.Access, target string) {
	view, entry := s.finder.view, s.whole.Entry
	isOwn := func(own string) bool { return contain.Within(own, dir) }
	if entry.File == "" || view.Places.Broad(dir) || slices.ContainsFunc(view.HostFiles, isOwn) {
		return
	}
	suffices := func(entry config.Plugin) bool {
		g, ok := s.decide(entry)
		v, err := sandbox.ExplainName(g, view.HostFiles, target)
		return ok && err == nil && v.Read && (v.Write || access == manifest.Read)
	}
	if writable := entry; entry.ReadOnly && access == manifest.ReadWrite {
		if writable.ReadOnly = false; suffices(writable) {
			r.Key, r.At = "read_only", []config.Position{entry.Position("read_only")}
		}
		return
	}
	item, isListed := manifest.FS{Path: dir, Access: access}, entry.FS != nil
	resolve := func(f manifest.FS) string {
		dir, _ := view.Places.Resolve(f.Path, s.whole.Name)
		return dir
	}
	list := slices.Clone(entry.FS)
	if !isListed { // the key replaces all directories that the manifest requests
		list = slices.DeleteFunc(slices.Clone(s.about.Manifest.Capabilities.FS), func(f manifest.FS) bool {
			return !slices.ContainsFunc(s.whole.Grant.FS, func(m config.Mount) bool { return !m.State && m.Path == resolve(f) })
		})
	}
	if i := slices.IndexFunc(list, func(f manifest.FS) bool { return resolve(f) == dir }); i >= 0 {
		list[i].Access = access
		item = list[i]
	} else {
		list = append(list, item)
	}
	if entry.FS = list; !suffices(entry) {
		return
	}
	if len(r.At) == 0 || !isListed {
		r.At = []config.Position{entry.Position("fs")}
	}
	if r.Key, r.Allow = "fs", listOf(config.Plugin{FS: list}); isListed {
		r.Allow = itemOf(config.Plugin{FS: []manifest.FS{item}})
	}
	if dir != target {
		r.Why += fmt.Sprintf("; fs names directories: access = %q would be for all of %s", access, dir)
	}
}

// origin explains a web server.
func (s *subject) origin() Remedy {
	o, err := origin.Parse(s.refused.Target)
	if err != nil {
		return Remedy{}
	}
	isPrivate := func(list []config.HTTP) bool {
		i := config.FindHTTP(list, config.HTTP{Origin: o})
		return i >= 0 && list[i].Private
	}
	isLocal, answer := config.IsLocal(o.Host), s.about.Origin(o)
	if answer.Allowed && (!isLocal || isPrivate(s.about.Grant.HTTP)) {
		return granted(answer.Why)
	}
	found, entry := Remedy{Why: answer.Why, At: answer.At}, s.whole.Entry
	item, isListed := config.HTTP{Origin: o, Private: isLocal}, entry.HTTP != nil
	list := slices.Clone(entry.HTTP)
	if !isListed { // the key replaces all origins that the manifest names
		list = slices.Clone(s.whole.Grant.HTTP)
	}
	if i := slices.IndexFunc(list, func(h config.HTTP) bool { return !h.PublicWeb && h.Origin == o }); i >= 0 {
		list[i].Private = list[i].Private || isLocal
		item = list[i]
	} else {
		list = append(list, item)
	}
	entry.HTTP = list
	g, ok := s.decide(entry)
	if !ok || entry.File == "" || config.FindHTTP(g.HTTP, item) < 0 || isLocal && !isPrivate(g.HTTP) {
		return found
	}
	found.Key, found.At, found.Allow = "http", []config.Position{entry.Position("http")}, listOf(config.Plugin{HTTP: list})
	if isListed {
		found.Allow = itemOf(config.Plugin{HTTP: []config.HTTP{item}})
	}
	return found
}

// decide returns what the plugin would be granted for the client with another table. ok is false if it would be left out. No file is looked at.
func (s *subject) decide(entry config.Plugin) (g config.Grant, ok bool) {
	view, m := s.finder.view, s.whole.Manifest
	g, problems := config.Decide(m, entry, view.Defaults, view.Places, config.Flags{AllowWrite: view.Options.AllowWrite, Env: view.Options.Env})
	if problems.Err() != nil {
		return g, false
	}
	if g, problems = view.Ceiling.Narrow(m, entry, view.Places, g); problems.Err() != nil || g.LeftOut != "" || config.CheckCount(entry, g).Err() != nil {
		return g, false
	}
	changed := *s.whole
	changed.Entry, changed.Grant = entry, g
	narrowed, why := s.client.plugin(view, &changed)
	return narrowed.Grant, why.By == ""
}

// listOf formats the value of the only key that p sets, on one line.
func listOf(p config.Plugin) string {
	_, value, _ := strings.Cut(strings.TrimSpace(config.Settings(p)), " = ")
	return strings.NewReplacer("[\n    ", "[", ",\n    ", ", ", ",\n]", "]").Replace(value)
}

// itemOf formats the only item of the list that is the only key of p.
func itemOf(p config.Plugin) string {
	return strings.TrimSuffix(strings.TrimPrefix(listOf(p), "["), "]")
}
