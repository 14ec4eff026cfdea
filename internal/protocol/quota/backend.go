package quota

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Backend applies the limits of a view to the calls of each of its principals.
type Backend struct {
	gateway.Backend
	book   *Book
	limits atomic.Pointer[Limits]
}

// NewBackend returns a Backend for b, without limits. What principals use is in book.
func NewBackend(b gateway.Backend, book *Book) *Backend {
	limited := &Backend{Backend: b, book: book}
	limited.SetLimits(Limits{})
	return limited
}

// SetLimits sets the limits for further requests.
func (b *Backend) SetLimits(l Limits) { b.limits.Store(&l) }

// Unwrap returns the backend that answers the requests.
func (b *Backend) Unwrap() gateway.Backend { return b.Backend }

// Account returns the account of a principal, and its limits; nil if there are none. The error is an *Exceeded.
func (b *Backend) Account(p *call.Principal) (*Account, Limits, error) {
	l := *b.limits.Load()
	if l == (Limits{}) {
		return nil, l, nil
	}
	a := b.book.account(p.ID, l, time.Now())
	if a == nil {
		return nil, l, &Exceeded{Key: "clients with a quota", Limit: maxAccounts, Wait: time.Minute}
	}
	return a, l, nil
}

// Find implements gateway.Backend.
func (b *Backend) Find(r call.Request) (gateway.Queued, *abi.Error) {
	a, l, err := b.Account(r.Principal)
	if err == nil && a == nil {
		return b.Backend.Find(r)
	}
	if err == nil {
		err = a.begin(l, time.Now())
	}
	if err != nil {
		return nil, b.Refuse(err.(*Exceeded))
	}
	counts := false
	defer func() { // also after a panic, from which the gateway recovers
		if !counts {
			a.end(0, time.Now())
		}
	}()
	found, refused := b.Backend.Find(r)
	if refused != nil {
		return nil, refused
	}
	counts = true
	return &counted{Queued: found, backend: b, account: a, limits: l}, nil
}

// BeginQuestion counts a call that waits for an answer of its client until end is called. why is the reason why it may not; empty if it may.
func (b *Backend) BeginQuestion(p *call.Principal) (end func(), why string) {
	a, l, err := b.Account(p)
	if err == nil && a == nil {
		return func() {}, ""
	}
	if err == nil {
		err = a.beginQuestion(l)
	}
	if err != nil {
		b.book.count(err.(*Exceeded))
		return nil, err.Error()
	}
	return a.endQuestion, ""
}

// counted is a call that counts until it has ended.
type counted struct {
	gateway.Queued
	backend *Backend
	account *Account
	limits  Limits
	ended   sync.Once
}

// Execute implements gateway.Queued.
func (c *counted) Execute(ctx context.Context, n gateway.Notifier) (result call.Result, err error) {
	defer func() { c.ended.Do(func() { c.account.end(result.Fuel, time.Now()) }) }()
	return c.Queued.Execute(context.WithValue(ctx, countedKey{}, c), n)
}

// ResponseWritten implements gateway.ResponseWritten.
func (c *counted) ResponseWritten() {
	if held, ok := c.Queued.(gateway.ResponseWritten); ok {
		held.ResponseWritten()
	}
}

// codeExceeded is the JSON-RPC code of a request beyond a quota, of those for errors of servers.
const codeExceeded = -32000

// Refuse counts that a request was refused, and returns the error for its client.
func (b *Backend) Refuse(e *Exceeded) *abi.Error {
	b.book.count(e)
	return &abi.Error{Code: codeExceeded, Message: e.Error(),
		Data: fmt.Appendf(nil, `{"bulkhead/error":{"code":"quota","quota":%q,"retry_after":%d}}`, e.Key, e.RetryAfter())}
}
