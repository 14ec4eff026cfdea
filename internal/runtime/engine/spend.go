package engine

import "context"

// Spend charges the call that performs an operation for work on a number of bytes. It aborts the call if the call exceeds
// its fuel limit. ctx is the context that Spec.Operate got; with any other context, Spend does nothing. Only the goroutine
// that runs Spec.Operate may call Spend.
func Spend(ctx context.Context, bytes int) {
	c, ok := ctx.Value(executionKey{}).(*execution)
	if !ok {
		return
	}
	c.charge(bytes)
	if left, limited := c.fuelLeft(); limited && left < 0 {
		c.abort(c.outOfFuel())
	}
}
