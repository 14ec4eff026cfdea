package worker

import (
	"context"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// operator performs the operations of one call in one worker. Those that need what the worker was started with are performed by its
// Launch, others by next.
type operator struct {
	launch *Launch
	next   Operate
	locks  Locks // nil until the first operation lock
}

func (o *operator) operate(ctx context.Context, operation wire.Operation) wire.Reply {
	var err error
	switch {
	case operation.Op == wire.OpCreate && o.launch.Create != nil:
		var mount int
		if mount, err = strconv.Atoi(string(operation.Params)); err == nil {
			err = o.launch.Create(mount)
		}
	case operation.Op == abi.OpLock && o.launch.Locks != nil:
		if o.locks == nil {
			o.locks = o.launch.Locks()
		}
		err = o.locks.Lock(ctx, operation.Params)
	default:
		return o.next(ctx, operation)
	}
	return wire.ReplyOf([]byte("null"), err)
}

// end releases the locks of the call. The worker no longer runs the call, or has ended.
func (o *operator) end() {
	if o.locks != nil {
		o.locks.End()
	}
}
