//go:build linux || darwin

package vfs

import (
	"io/fs"
	"path"
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

// isGit reports whether some file system takes name for ".git": by case, by the code points that
// HFS+ ignores in names, or by the short name that FAT and NTFS give it.
func isGit(name string) bool {
	if len(name) < len(".git") {
		return false
	}
	if strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1") {
		return true
	}
	return strings.EqualFold(strings.Map(dropIgnored, name), ".git")
}

func dropIgnored(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}

// mayChange says whether what is at p, or its absence, may change at all.
func (f *FS) mayChange(p *place) error {
	switch {
	case p.mount == nil || !p.mount.Write:
		return refusal{sys.EACCES}
	case p.viaGit || f.policy.readOnly(p.path):
		return refusal{sys.EPERM}
	case f.policy.hides(p.path):
		return refusal{sys.EACCES}
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
		return refusal{sys.EPERM}
	}
	movable := p.info != nil && p.info.Mode()&(fs.ModeDir|fs.ModeSymlink) != 0
	if movable && len(f.mounts) > 1 && f.mounts.anchors(p.info) {
		return refusal{sys.EPERM}
	}
	return nil
}

// mayPoint says whether a link at p may have this target. Nothing could be read through a link out
// of the grants here, but it would be a trap for whoever else follows it, such as a plugin with
// wider grants.
func (f *FS) mayPoint(p *place, target string) error {
	if len(target) == 0 || strings.ContainsRune(target, 0) {
		return sys.EINVAL
	}
	if len(target) > maxPath {
		return sys.ENAMETOOLONG
	}
	if !path.IsAbs(target) {
		target = path.Join(path.Dir(p.path), target)
	}
	if f.mounts.holding(path.Clean(target)) == nil {
		return refusal{sys.EACCES}
	}
	return nil
}
