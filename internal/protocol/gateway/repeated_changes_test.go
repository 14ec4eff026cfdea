package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// restless is a backend whose every answer reports changes.
type restless struct {
	*fakeBackend
	reports map[string][]string // notifications, as method and URI, of the requests of each method
	calls   atomic.Int64
}

func (b *restless) Find(r call.Request) (Queued, *abi.Error) {
	queued, err := b.fakeBackend.Find(r)
	return restlessCall{queued, b, r.Method}, err
}

type restlessCall struct {
	Queued
	b      *restless
	method string
}

func (c restlessCall) Execute(ctx context.Context, n Notifier) (call.Result, error) {
	c.b.calls.Add(1)
	for _, report := range c.b.reports[c.method] {
		method, uri, _ := strings.Cut(report, " ")
		if err := n.Notify(ctx, "notifications/"+method, fmt.Appendf(nil, `{"uri":%q}`, uri)); err != nil {
			return call.Result{}, err
		}
	}
	return c.Queued.Execute(ctx, n)
}

// obey makes the requests with which clients react to notifications: those in lines, and all further ones within a time. It stops after
// a thousand requests.
func obey(p *peer, lines []string, within time.Duration) {
	for began, id := time.Now(), 1000; time.Since(began) < within && id < 2000; {
		var requests []string
		for _, line := range lines {
			id++
			request := `{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s}}`
			switch {
			case strings.Contains(line, "notifications/prompts/list_changed"):
				requests = append(requests, fmt.Sprintf(request, id, "prompts/list", ""))
			case strings.Contains(line, "notifications/resources/list_changed"):
				requests = append(requests, fmt.Sprintf(request, id, "resources/list", ""))
			case strings.Contains(line, "notifications/resources/updated"):
				uri := line[strings.Index(line, `"uri"`) : strings.LastIndex(line, `"}`)+1]
				requests = append(requests, fmt.Sprintf(request, id, "resources/read", uri))
			}
		}
		if len(requests) == 0 {
			time.Sleep(time.Millisecond)
			lines = p.out.lines()
			continue
		}
		lines = p.say(requests...)
	}
}

// TestChangesDoNotMakeClientsRepeatRequests runs clients that react to each notification, as MCP has it. The bounds have the first request,
// a burst of 8 and one for each second, of each kind of changes.
func TestChangesDoNotMakeClientsRepeatRequests(t *testing.T) {
	const prompts, resources = "prompts/list_changed", "resources/list_changed"
	for name, c := range map[string]struct {
		reports map[string][]string
		first   string
		most    int // requests in four seconds
	}{
		"a list of prompts reports its own change":   {map[string][]string{"prompts/list": {prompts}}, `"method":"prompts/list"`, 1},
		"a list of resources reports its own change": {map[string][]string{"resources/list": {resources}}, `"method":"resources/list"`, 1},
		"a list of templates reports its own change": {map[string][]string{"resources/templates/list": {resources}}, `"method":"resources/templates/list"`, 1},
		"a resource reports its own update":          {map[string][]string{"resources/read": {"resources/updated note://a"}}, `"method":"resources/read","params":{"uri":"note://a"}`, 1},
		"two lists report each other's change":       {map[string][]string{"prompts/list": {resources}, "resources/list": {prompts}}, `"method":"prompts/list"`, 13},
		"every request reports an update of another": {map[string][]string{"resources/list": {"resources/updated note://a"}, "resources/read": {resources}}, `"method":"resources/list"`, 13},
		"every request reports everything": {map[string][]string{"prompts/list": {prompts, resources, "resources/updated note://a"}, "resources/list": {prompts, resources, "resources/updated note://a"},
			"resources/read": {prompts, resources, "resources/updated note://a"}}, `"method":"prompts/list"`, 37},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &restless{fakeBackend: newFake(), reports: c.reports}
				g := newGateway(t, Config{Offers: Offers{Prompts: true, PromptsChange: true, Resources: true, ResourcesChange: true, Subscribe: true}}, b)
				one := connect(t, g)
				one.say(initializeLine, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://a"}}`)
				b.calls.Store(0)
				obey(one, one.say(`{"jsonrpc":"2.0","id":2,`+c.first+`}`), 4*time.Second)
				if n := int(b.calls.Load()); n > c.most || n < min(c.most, 2) {
					t.Errorf("the client made %d requests in 4 s, want up to %d", n, c.most)
				}
			})
		})
	}
}

// TestChangesOfBusySessionsAreMerged checks that a change is announced late rather than never, to the session of the call and to others.
func TestChangesOfBusySessionsAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, Config{Offers: Offers{Prompts: true, PromptsChange: true, Resources: true, ResourcesChange: true}}, newFake())
		one, other := connect(t, g), connect(t, g)
		one.say(initializeLine)
		other.say(initializeLine)
		const prompts, resources = `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`, `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`
		for id := range deliverBurst {
			if got := one.say(notifyLine(id, "notifications/prompts/list_changed")); len(got) != 2 || got[0] != prompts {
				t.Errorf("call %d: %q", id, got)
			}
			wantLines(t, other.out.lines(), prompts)
		}
		for id := range 10 {
			if got := one.say(notifyLine(id, "notifications/prompts/list_changed", "notifications/resources/list_changed")); len(got) != 1 {
				t.Errorf("call %d: %q", id, got)
			}
		}
		wantLines(t, other.out.lines())
		time.Sleep(deliverInterval)
		synctest.Wait()
		wantLines(t, one.out.lines(), prompts, resources)
		wantLines(t, other.out.lines(), prompts, resources)
		time.Sleep(deliverBurst * deliverInterval)
		if got := one.say(notifyLine(0, "notifications/prompts/list_changed")); len(got) != 2 {
			t.Errorf("after a pause: %q", got)
		}
	})
}
