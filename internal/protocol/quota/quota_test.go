package quota

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// noon is a time on some day of UTC.
var noon = time.Unix(20_000*24*60*60+12*60*60, 0)

func exceeded(t *testing.T, err error, key string) *Exceeded {
	t.Helper()
	e := (*Exceeded)(nil)
	if !errors.As(err, &e) || e.Key != key || e.RetryAfter() < 1 {
		t.Fatalf("got %v, want an error about %s", err, key)
	}
	return e
}

// TestRequestsNeverExceedRateAndBurst makes requests at random times: in no interval are there more than the rate and the burst allow.
func TestRequestsNeverExceedRateAndBurst(t *testing.T) {
	l := Limits{Requests: 10, Burst: 4}
	r := rand.New(rand.NewPCG(1, 2))
	var a Account
	now, admitted := noon, []time.Time{}
	for range 20_000 {
		now = now.Add(time.Duration(r.IntN(150)) * time.Millisecond)
		err := a.Request(l, 1, 0, now)
		if err == nil {
			admitted = append(admitted, now)
			continue
		}
		e := exceeded(t, err, "requests_per_second")
		if next := (&Account{tokens: a.tokens, filled: a.filled}); next.Request(l, 1, 0, now.Add(e.Wait+time.Microsecond)) != nil {
			t.Fatalf("a request after the time to wait, %v, is refused", e.Wait)
		}
	}
	for i := range admitted {
		for j := i; j < min(i+100, len(admitted)); j++ {
			if most := 4 + admitted[j].Sub(admitted[i]).Seconds()*10 + 1e-6; float64(j-i+1) > most {
				t.Fatalf("%d requests in %v", j-i+1, admitted[j].Sub(admitted[i]))
			}
		}
	}
	if len(admitted) < 10_000 {
		t.Errorf("%d of 20000 requests were admitted", len(admitted))
	}
}

func TestBatchIsPaidFor(t *testing.T) {
	var a Account
	l := Limits{Requests: 10}
	if err := a.Request(l, 100, 0, noon); err != nil {
		t.Fatal(err)
	}
	if e := exceeded(t, a.Request(l, 1, 0, noon.Add(9*time.Second)), "requests_per_second"); e.Wait > 200*time.Millisecond {
		t.Errorf("wait %v", e.Wait)
	}
	if err := a.Request(l, 1, 0, noon.Add(9200*time.Millisecond)); err != nil {
		t.Error(err)
	}
}

func TestBytesAndFuelAreThoseOfOneDay(t *testing.T) {
	var a Account
	l := Limits{Bytes: 100, Fuel: 50}
	if err := a.Request(l, 1, 40, noon); err != nil {
		t.Fatal(err)
	}
	a.Wrote(60, noon)
	if e := exceeded(t, a.Request(l, 1, 1, noon), "bytes_per_day"); e.Wait != 12*time.Hour {
		t.Errorf("wait %v", e.Wait)
	}
	if err := a.begin(l, noon); err != nil {
		t.Fatal(err)
	}
	a.end(50, noon)
	if e := exceeded(t, a.begin(l, noon.Add(time.Hour)), "fuel_per_day"); e.Wait != 11*time.Hour {
		t.Errorf("wait %v", e.Wait)
	}
	tomorrow := noon.Add(12 * time.Hour)
	if err := errors.Join(a.Request(l, 1, 1, tomorrow), a.begin(l, tomorrow)); err != nil {
		t.Errorf("on the next day: %v", err)
	}
}

// backend answers requests; "refused" is unknown to it.
type backend struct {
	gateway.Backend
	fuel int64
}

func (b *backend) Find(r call.Request) (gateway.Queued, *abi.Error) {
	if r.Name == "panics" {
		panic("in the look-up")
	}
	if r.Name == "refused" {
		return nil, gateway.Unknown(r.Method, r.Name, "")
	}
	return answer{fuel: b.fuel}, nil
}

type answer struct {
	gateway.Queued
	fuel int64
}

func (a answer) Execute(context.Context, gateway.Notifier) (call.Result, error) {
	return call.Result{Fuel: a.fuel}, errors.New("failed, but used fuel")
}

func TestCallsAtTheSameTimeAreCountedForEachPrincipal(t *testing.T) {
	book := &Book{}
	one, two := NewBackend(&backend{}, book), NewBackend(&backend{}, book)
	one.SetLimits(Limits{Concurrent: 2})
	two.SetLimits(Limits{Concurrent: 2})
	ann, bob := &call.Principal{ID: "ann"}, &call.Principal{ID: "bob"}
	find := func(b *Backend, p *call.Principal, name string) (gateway.Queued, *abi.Error) {
		return b.Find(call.Request{Method: abi.MethodToolsCall, Name: name, Principal: p})
	}
	if _, err := find(one, ann, "refused"); err == nil {
		t.Fatal("found")
	}
	first, err := find(one, ann, "t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := find(two, ann, "t"); err != nil { // in another view
		t.Fatal(err)
	}
	_, refused := find(one, ann, "t")
	if refused == nil || !json.Valid(refused.Data) || string(refused.Data) != `{"bulkhead/error":{"code":"quota","quota":"concurrent","retry_after":1}}` {
		t.Errorf("got %+v", refused)
	}
	if _, err := find(one, bob, "t"); err != nil {
		t.Errorf("another principal: %v", err)
	}
	_, _ = first.Execute(t.Context(), nil)
	if _, err := find(one, ann, "t"); err != nil {
		t.Errorf("after a call has ended: %v", err)
	}
	one.SetLimits(Limits{})
	for range 5 {
		if _, err := find(one, ann, "t"); err != nil {
			t.Errorf("without limits: %v", err)
		}
	}
}

// TestFailedCallsUseFuel checks that a call counts with its fuel even if it fails.
func TestFailedCallsUseFuel(t *testing.T) {
	b := NewBackend(&backend{fuel: 30}, &Book{})
	b.SetLimits(Limits{Fuel: 50})
	r := call.Request{Method: abi.MethodToolsCall, Name: "t", Principal: &call.Principal{ID: "ann"}}
	for i := range 3 {
		found, refused := b.Find(r)
		if (refused != nil) != (i == 2) {
			t.Fatalf("call %d: %+v", i, refused)
		}
		if found != nil {
			_, _ = found.Execute(t.Context(), nil)
		}
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	b := NewBackend(&backend{}, &Book{})
	b.SetLimits(Limits{Questions: 1})
	ann := &call.Principal{ID: "ann"}
	end, why := b.BeginQuestion(ann)
	if why != "" {
		t.Fatal(why)
	}
	if _, why := b.BeginQuestion(ann); why != "the quota of this client is exceeded: questions = 1" {
		t.Errorf("got %q", why)
	}
	end()
	if _, why := b.BeginQuestion(ann); why != "" {
		t.Error(why)
	}
}

// TestAccountsAreBounded checks that an account is dropped only if a new one would allow its principal no more, so that neither forgets what was
// used nor lets principals without quota of a day keep others out.
func TestAccountsAreBounded(t *testing.T) {
	b, daily := &Book{}, Limits{Requests: 1, Burst: 10, Bytes: 1000}
	for i := range maxAccounts {
		a := b.account(fmt.Sprint(i), daily, noon)
		if a == nil {
			t.Fatal("no account")
		}
		if err := a.Request(daily, 1, 1, noon); err != nil {
			t.Fatal(err)
		}
	}
	now := noon
	admits := func(what string, want bool) {
		t.Helper()
		now = now.Add(sweepTime)
		if got := b.account(what, daily, now) != nil; got != want {
			t.Errorf("%s: admitted %t", what, got)
		}
	}
	admits("beside accounts that were used today", false)
	if b.account("0", daily, now) == nil {
		t.Error("an account that was used today was dropped")
	}
	b.accounts["7"].day--
	admits("before the requests of another day's account are refilled", false)
	now = now.Add(10 * time.Second)
	admits("beside an account of yesterday", true)
	if b.accounts["7"] != nil {
		t.Error("an account of yesterday was kept")
	}
	rate := b.accounts["8"]
	for range 10 {
		_ = rate.Request(Limits{Requests: 1, Burst: 10}, 1, 1, now)
	}
	admits("beside an account whose requests are not refilled", false)
	now = now.Add(11 * time.Second)
	rate.calls++
	admits("beside an account with a call", false)
	rate.calls--
	admits("beside an account that only bounds the rate", true)
}

// TestMessagesAreBounded checks that notifications and answers are still admitted when requests are not, up to twice the limits.
func TestMessagesAreBounded(t *testing.T) {
	for name, l := range map[string]Limits{"requests_per_second": {Requests: 1, Burst: 4}, "bytes_per_day": {Bytes: 40}} {
		var a Account
		for a.Request(l, 1, 10, noon) == nil {
		}
		messages := 0
		var err error
		for err = a.Message(l, 10, noon); err == nil; err = a.Message(l, 10, noon) {
			messages++
		}
		if e := exceeded(t, err, name); messages != 4 || e.Limit != max(l.Requests, l.Bytes) {
			t.Errorf("%s: %d messages after the last request; %v", name, messages, e)
		}
		exceeded(t, a.Request(l, 1, 0, noon), name)
		if err := a.Message(l, 10, noon.Add(24*time.Hour)); err != nil {
			t.Errorf("%s: on the next day: %v", name, err)
		}
	}
}

// TestClockMayStepBack checks that a clock that is set back neither blocks a principal nor gives it more than its burst.
func TestClockMayStepBack(t *testing.T) {
	var a Account
	l := Limits{Requests: 10, Burst: 4}
	for range 4 {
		if err := a.Request(l, 1, 0, noon); err != nil {
			t.Fatal(err)
		}
	}
	earlier := noon.Add(-48 * time.Hour)
	exceeded(t, a.Request(l, 1, 0, earlier), "requests_per_second")
	for n := range 5 {
		if err := a.Request(l, 1, 0, earlier.Add(time.Second)); (err == nil) != (n < 4) {
			t.Errorf("request %d a second later: %v", n, err)
		}
	}
}

// TestPanicInLookUpEndsCall checks that a look-up that panics does not count as a call that runs.
func TestPanicInLookUpEndsCall(t *testing.T) {
	b := NewBackend(&backend{}, &Book{})
	b.SetLimits(Limits{Concurrent: 1})
	r := call.Request{Method: abi.MethodToolsCall, Name: "panics", Principal: &call.Principal{ID: "ann"}}
	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					t.Fatal("the call was refused")
				}
			}()
			_, _ = b.Find(r)
		}()
	}
	r.Name = "t"
	if _, err := b.Find(r); err != nil {
		t.Error(err)
	}
}
