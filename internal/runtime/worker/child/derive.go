package child

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/derived"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// derivedCache is the memory of the cache of derived data when it is full, in bytes.
const derivedCache = 16 << 20

// newCache returns the cache of derived data.
func newCache(d wire.Derived) *derived.Cache {
	var tag derived.Tag
	copy(tag[:], d.Tag)
	return derived.NewCache(tag, d.Kept, file(d.Older, "derived data"), file(d.Newer, "derived data"))
}

// derive implements sandbox.Config.Derive. The sandbox has checked that the module may read the file.
func (s *server) derive(ctx context.Context, kind sandbox.Derivation, file sandbox.DerivedFile) ([]byte, error) {
	if !kind.SHA256 && !s.module.Derives() {
		return nil, errNoDeriveFunctions
	}
	if err := s.derivations.take(ctx, s.credit, s.module.DeriveCost()+derivedCache); err != nil {
		return nil, &engine.Error{Code: engine.CodeMemory, Message: "needs memory to derive data that the server does not have", Err: err}
	}
	st := file.Stat
	key := derived.Key{Function: kind.Function, Dev: st.Dev, Ino: st.Ino, Size: st.Size, Mtime: st.Mtime, Ctime: st.Ctime}
	if kind.SHA256 {
		key.Function = derived.SHA256
	}
	busy := func() {
		if c := runningOf(ctx); c != nil {
			c.busy()
		}
	}
	return s.cache.Get(ctx, key, file.Open, busy, func() ([]byte, error) {
		content, err := file.Read()
		if err != nil {
			return nil, err
		}
		if kind.SHA256 {
			return sandbox.Digest(content), nil
		}
		data, err := s.module.Derive(ctx, kind.Function, content)
		switch {
		case errors.Is(err, engine.ErrUnavailable):
			return nil, errNoDeriveFunctions
		case errors.Is(err, engine.ErrDerivation):
			return nil, fmt.Errorf("%w: %w", sandbox.ErrDerive, err)
		}
		return data, err
	})
}

var errNoDeriveFunctions = &abi.HostError{Code: abi.HostUnavailable, Message: "fs/scan: " + engine.ErrUnavailable.Error()}

// Each record fits into a frame.
const _ = uint(wire.MaxDerived - derived.MaxRecord)

// smallChunk is the size in bytes up to which records leave with the result, in one write.
const smallChunk = 16 << 10

// sendDerived sends new records of derived data before the result, so that the host receives them even if it ends the worker after
// the call. Sending the records takes little time, compared to computing them; the host writes them to disk later.
func (c *running) sendDerived() {
	for _, chunk := range c.server.cache.Take(wire.DerivedPerCall) {
		if len(chunk) <= smallChunk {
			_ = c.server.out.Delay(wire.TypeDerived, 0, chunk) // the next read reports that the host has ended
			continue
		}
		c.busy() // a large write may block
		_ = c.server.out.Write(wire.TypeDerived, 0, chunk)
	}
}
