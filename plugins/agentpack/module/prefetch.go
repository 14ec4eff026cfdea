package module

import (
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
)

// minSiblings is the number of modules in one directory from which one scan of the directory is faster than reading
// each module on its own.
const minSiblings = 4

// Prefetch reads modules that are in the same directory of the config repo, so that later calls of Read find their
// files in memory. If Prefetch has not read a module completely, Read reads the module itself, and returns any error.
func (s *Sources) Prefetch(modules []config.Module) {
	siblings := map[string]map[string]bool{} // the names of the modules in each directory; the key is the directory
	for _, module := range modules {
		if module.Local == nil || !filepath.IsLocal(module.Local.Path) {
			continue
		}
		root, repo, err := s.locate(module)
		if err != nil || root == repo {
			continue
		}
		dir := filepath.Dir(root)
		if siblings[dir] == nil {
			siblings[dir] = map[string]bool{}
		}
		siblings[dir][filepath.Base(root)] = true
	}
	s.prefetched = map[string]*disk.Child{}
	for dir, names := range siblings {
		if len(names) < minSiblings || !s.isPlain(dir) {
			continue
		}
		for name, child := range disk.Children(dir, names, maxTreeBytes) {
			s.prefetched[filepath.Join(dir, name)] = child
		}
	}
}

// isPlain reports whether no component in the path of dir, a directory in the config repo, is a symbolic link. Then the
// files below dir are in the config repo.
func (s *Sources) isPlain(dir string) bool {
	bound, err := s.bound(filepath.Clean(s.Repo))
	if err != nil || dir == bound.Root() {
		return err == nil
	}
	below, err := filepath.Rel(bound.Root(), dir)
	if err != nil {
		return false
	}
	target, err := bound.Resolve(dir)
	return err == nil && target.Path == filepath.Join(bound.Real(), below)
}
