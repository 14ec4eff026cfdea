//go:build linux || darwin

package vfs

import (
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// policy narrows what the mounts grant. It judges resolved paths only, so no link, and no second
// name for a folder, gets around it.
type policy struct {
	// hidden is Config.Hidden; nil hides nothing.
	hidden func(p string, below bool) bool
}

// hides reports whether p does not exist for the module.
func (po policy) hides(p string) bool { return po.hidden != nil && po.hidden(p, false) }

// hidesBelow reports whether p holds something that moving p would uncover.
func (po policy) hidesBelow(p string) bool { return po.hidden != nil && po.hidden(p, true) }

// readOnly reports whether p may never be written, whatever its mount says. What lies in a .git
// folder, a hook for one, is code that runs as the user.
func (po policy) readOnly(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
		if isGit(name) {
			return true
		}
	}
	return false
}

// mayChange says whether what is at p, or its absence, may change at all.
func (f *FS) mayChange(p *place) error {
	switch {
	case p.mount == nil || !p.mount.Write:
		return refusal{errno: sys.EACCES}
	case p.viaGit || p.inGit || f.policy.readOnly(p.path):
		return refusal{errno: sys.EPERM}
	case f.policy.hides(p.path):
		return refusal{errno: sys.EACCES}
	}
	return nil
}

// mayReplace says whether another thing may come to p's name, or the thing there may go. A mount
// point and the folders above it stay what they are: whoever could put a link in their place would
// choose what the mount shows.
func (f *FS) mayReplace(p *place) error {
	if err := f.mayChange(p); err != nil {
		return err
	}
	if f.mounts.at(p.path) != nil || f.mounts.below(p.path) {
		return refusal{errno: sys.EPERM}
	}
	// Names are not enough to tell: a file system that ignores case has other names for the same directory.
	if p.info != nil && (p.info.IsDir() || p.info.IsLink()) && f.mounts.anchors[p.info.FileID] {
		return refusal{errno: sys.EPERM}
	}
	return nil
}
