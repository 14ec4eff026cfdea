package dispatch

import (
	"context"
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/grant"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// locker acquires locks for the calls of one worker. The worker chooses paths, and what is locked is what they resolve to beneath the
// handles of its grant.
type locker struct {
	*sandbox.Locker
	set *grant.Set
}

// locker returns the locker of a worker with the grants of set.
func (p *plugin) locker(set *grant.Set) (*locker, error) {
	c := sandbox.LockerConfig{Hidden: sandbox.Hidden{Patterns: p.Grant.Deny, Own: platform.TreePaths(set.Own)}, Names: set.Locks, Log: p.Log}
	for _, m := range set.Mounts {
		mount := vfs.Mount{Path: platform.TreePath(m.Path), Aliases: platform.TreePaths(m.Aliases), Write: m.Write, InGit: vfs.InGitDirectory(m.Path)}
		if !m.Absent {
			mount.Dir = m.Dir
		}
		c.Mounts = append(c.Mounts, mount)
	}
	l, err := sandbox.NewLocker(c)
	return &locker{l, set}, err
}

// create creates an absent granted directory, as worker.Launch.Create, so that it can be locked too.
func (l *locker) create(mount int) error {
	if err := l.set.Create(mount); err != nil {
		return err
	}
	m := l.set.Mounts[mount]
	return l.Created(platform.TreePath(m.Path), m.Dir)
}

func (l *locker) begin() worker.Locks { return callLocks{l.Begin()} }

// callLocks decodes the parameters, which a worker chooses.
type callLocks struct{ *sandbox.Locks }

func (c callLocks) Lock(ctx context.Context, params []byte) error {
	if err := rawjson.Bound(params, maxRequestValues, maxRequestDepth); err != nil {
		return invalidOperation(abi.OpLock)
	}
	var q abi.Lock
	if err := json.Unmarshal(params, &q); err != nil {
		return invalidOperation(abi.OpLock)
	}
	return c.Locks.Lock(ctx, q)
}
