package sandbox

import (
	"context"
	"sync/atomic"
)

// maxUses is the number of grants whose use is known, at least config.MaxDirectories.
const maxUses = 128

// Uses are the grants that were used, a bit for each: first those that were read, and from the bit maxUses on those that were changed. Grants are
// numbered in the order of Config: mounts, then repositories.
type Uses [2 * maxUses / 64]uint64

// uses are Uses that are being collected.
type uses [2 * maxUses / 64]atomic.Uint64

func (u *uses) add(bit int) { u[bit/64].Or(1 << (bit % 64)) }

// Used returns the grants that the call of a context has used, and those that were used when the module was loaded, since every call starts with what
// was read then.
func (b *Box) Used(ctx context.Context) (all Uses) {
	c := callOf(ctx)
	for i := range all {
		all[i] = c.used[i].Load() | b.early[i].Load()
	}
	return all
}

// use notes that a grant is used, or changed. The context may be that of an operation.
func (b *Box) use(ctx context.Context, grant int, write bool) {
	if grant >= maxUses {
		return
	}
	if write {
		grant += maxUses
	}
	c, during := ctx.Value(callKey{}).(*call)
	switch {
	case !during:
		b.early.add(grant)
	case c.of != nil:
		c.of.used.add(grant)
	default:
		c.used.add(grant)
	}
}

// useRepository implements git.Config.Used.
func (b *Box) useRepository(ctx context.Context, granted string, write bool) {
	b.use(ctx, b.repoIndex[granted], write)
}
