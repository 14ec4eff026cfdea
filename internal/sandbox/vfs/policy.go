package vfs

import (
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// policy restricts what the mounts grant. It is applied to resolved paths only, so no symbolic link and no alias of a
// directory bypasses it.
type policy struct {
	// hidden is Config.Hidden.
	hidden func(p string, below bool) bool
}

// isHidden reports whether p does not exist for the module.
func (po policy) isHidden(p string) bool { return po.hidden != nil && po.hidden(p, false) }

// hidesBelow reports whether moving the directory p could make a hidden path visible.
func (po policy) hidesBelow(p string) bool { return po.hidden != nil && po.hidden(p, true) }

// readOnly reports whether p can never be written, whatever its mount grants: git runs hooks and configured programs in
// .git as the user.
func (po policy) readOnly(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
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
	case p.viaGit || p.inGit || f.policy.readOnly(p.path):
		return refusal{errno: sys.EPERM}
	case f.policy.isHidden(p.path):
		return refusal{errno: sys.EACCES}
	}
	f.changing()
	return nil
}

// mayReplace authorizes a change of what p's name refers to: creation, removal or renaming. Mount points and their
// ancestors cannot be replaced: a module that put a symbolic link in their place could choose the directory that is
// granted at the next start.
func (f *FS) mayReplace(p *place) error {
	if err := f.mayChange(p); err != nil {
		return err
	}
	if f.mounts.at(p.path) != nil || f.mounts.hasBelow(p.path) {
		return refusal{errno: sys.EPERM}
	}
	// Comparing names is not enough: a case-insensitive file system has other names for the same directory.
	if p.info != nil && (p.info.IsDir() || p.info.IsLink()) && f.mounts.anchors[p.info.FileID] {
		return refusal{errno: sys.EPERM}
	}
	return nil
}
