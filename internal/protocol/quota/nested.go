package quota

import (
	"context"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// countedKey is the key of the call that counts in the context of its Execute.
type countedKey struct{}

// BeginNested counts a call that the call of ctx makes, as one request and with its fuel. The caller must call end.
func BeginNested(ctx context.Context) (end func(fuel int64), refused *abi.Error) {
	by, ok := ctx.Value(countedKey{}).(*counted)
	if !ok {
		return func(int64) {}, nil
	}
	err := by.account.Request(by.limits, 1, 0, time.Now())
	if err == nil {
		err = by.account.hasFuel(by.limits, time.Now())
	}
	if err != nil {
		return nil, by.backend.Refuse(err.(*Exceeded))
	}
	return func(fuel int64) { by.account.burn(fuel, time.Now()) }, nil
}

// BeginFurther counts a further call at the same time as the call of ctx, which makes it, until end is called. ok is false if the principal
// may have no more.
func BeginFurther(ctx context.Context) (end func(), ok bool) {
	by, counts := ctx.Value(countedKey{}).(*counted)
	if !counts {
		return func() {}, true
	}
	if by.account.begin(by.limits, time.Now()) != nil {
		return nil, false
	}
	return func() { by.account.end(0, time.Now()) }, true
}

// hasFuel returns an *Exceeded if the fuel of the day is used up.
func (a *Account) hasFuel(l Limits, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn(now)
	return a.fuelLeft(l, now)
}

// burn counts fuel.
func (a *Account) burn(fuel int64, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn(now)
	a.fuel += fuel
}
