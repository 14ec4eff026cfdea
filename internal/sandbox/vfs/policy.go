package vfs

import (
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// The policy restricts what the mounts grant. It is applied to resolved paths only, so no symbolic link and no alias of a
// directory bypasses it.

// isHidden reports whether p does not exist for the module.
func (f *FS) isHidden(p string) bool { return f.config.Hidden != nil && f.config.Hidden(p, false) }

// hidesBelow reports whether moving the directory p could make a hidden path visible.
func (f *FS) hidesBelow(p string) bool { return f.config.Hidden != nil && f.config.Hidden(p, true) }

// InGit reports whether a clean absolute path is, or is below, a .git, which no module may write, whatever its mount grants: git
// runs hooks and configured programs there as the user.
func InGit(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if isGit(name) {
			return true
		}
	}
	return false
}

// mayChange authorizes a change of p: its content, metadata, creation or removal.
func (f *FS) mayChange(p *place) error {
	switch {
	case p.mount == nil || !p.mount.Write:
		return refusal{errno: sys.EACCES}
	case p.viaGit || p.inGit || InGit(p.path):
		return refusal{errno: sys.EPERM}
	case f.isHidden(p.path):
		return refusal{errno: sys.EACCES}
	}
	if err := f.config.Changing(p.mount.Path); err != nil {
		return refusal{sys.EACCES, err}
	}
	return nil
}

// mayReplace authorizes a change of what p's name refers to: creation, removal or renaming. Mount points and their
// ancestors cannot be replaced: a module that put a symbolic link in their place could choose the directory that is
// granted at the next start.
func (f *FS) mayReplace(p *place) error {
	if err := f.mayChange(p); err != nil {
		return err
	}
	if f.config.Mounts.at(p.path) != nil || f.config.Mounts.hasBelow(p.path) {
		return refusal{errno: sys.EPERM}
	}
	// Comparing names is not enough: a case-insensitive file system has other names for the same directory.
	if p.info != nil && (p.info.IsDir() || p.info.IsLink()) && f.config.Mounts.anchors[p.info.FileID] {
		return refusal{errno: sys.EPERM}
	}
	return nil
}
