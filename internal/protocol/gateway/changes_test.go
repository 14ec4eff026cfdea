package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// initializeLine is the handshake of a legacy session.
const initializeLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// notifyLine returns a call that sends notifications about changes.
func notifyLine(id int, methods ...string) string {
	var list []string
	for _, method := range methods {
		list = append(list, fmt.Sprintf(`{"method":%q,"params":{}}`, method))
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"notify","arguments":[%s]}}`, id, strings.Join(list, ","))
}

func TestChangesAreAnnouncedToAllSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, Config{Offers: Offers{Prompts: true, PromptsChange: true}}, newFake())
		one, other, gone := connect(t, g), connect(t, g), connect(t, g)
		one.say(initializeLine)
		other.say(initializeLine)
		gone.say(initializeLine)
		if err := gone.hangUp(); err != nil {
			t.Error(err)
		}
		one.say(notifyLine(1, "notifications/prompts/list_changed"))
		wantLines(t, other.out.lines(), `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
		wantLines(t, gone.out.lines())
	})
}

// stuck is a client that stops reading: after stop is closed, Write blocks until release is closed.
type stuck struct {
	outBuffer
	stop, release chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	select {
	case <-s.stop:
		<-s.release
	default:
	}
	return s.outBuffer.Write(p)
}

func TestClientThatDoesNotReadDoesNotBlockOtherSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, Config{Offers: Offers{Prompts: true, PromptsChange: true, Resources: true, ResourcesChange: true}}, newFake())
		one := connect(t, g)
		one.say(initializeLine)
		out := &stuck{stop: make(chan struct{}), release: make(chan struct{})}
		slow := connectTo(t, g, out)
		slow.say(initializeLine)
		out.lines()
		close(out.stop)
		for id := range 100 {
			got := one.say(notifyLine(id, "notifications/prompts/list_changed", "notifications/resources/list_changed"))
			if len(got) != 3 && (id < deliverBurst || len(got) != 1) {
				t.Fatalf("call %d: %q", id, got)
			}
		}
		close(out.release)
		synctest.Wait()
		// The first notifications are being written; all later ones are merged.
		round := []string{`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`, `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`}
		wantLines(t, out.lines(), append(round, round...)...)
	})
}

func TestChangesAreBounded(t *testing.T) {
	var c changes
	for i := range 1000 {
		if err := c.add("notifications/resources/updated", fmt.Appendf(nil, `{"uri":"note://%d"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.updated) != maxUpdated || !c.resources {
		t.Errorf("%d resources and (list: %t), want %d and the list", len(c.updated), c.resources, maxUpdated)
	}
	for params, want := range map[string]string{
		`{}`:         "uri must be a string of 1 to 4096 bytes",
		`{"uri":""}`: "uri must be a string of 1 to 4096 bytes",
		`{"uri":"` + strings.Repeat("x", maxURI+1) + `"}`: "uri must be a string of 1 to 4096 bytes",
	} {
		if err := c.add("notifications/resources/updated", []byte(params)); err == nil || err.Error() != want {
			t.Errorf("%.40s: %v, want %s", params, err, want)
		}
	}
}

func TestSubscriptionCoversResourcesBelow(t *testing.T) {
	for _, test := range []struct {
		watched, changed string
		want             bool
	}{
		{"note://a", "note://a", true},
		{"note://a", "note://a/b", true},
		{"note://a/", "note://a/b", true},
		{"note://a", "note://ab", false},
		{"note://a/b", "note://a", false},
	} {
		if got := covers(test.watched, test.changed); got != test.want {
			t.Errorf("%s covers %s: %t, want %t", test.watched, test.changed, got, test.want)
		}
	}
}

func TestSubscriptionsOfASessionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newGateway(t, Config{Offers: Offers{Resources: true, Subscribe: true}}, newFake()))
		subscribe := func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"note://%d"}}`, i, i)
		}
		for i := range maxSubscriptions {
			p.say(subscribe(i))
		}
		got := p.say(subscribe(maxSubscriptions), subscribe(0))
		want := []string{
			`{"jsonrpc":"2.0","id":1024,"error":{"code":-32600,"message":"Invalid request: more than 1024 subscriptions: unsubscribe from some"}}`,
			`{"jsonrpc":"2.0","id":0,"result":{}}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// reportingWriter reports that a Write has begun.
type reportingWriter struct {
	io.Writer
	writes chan struct{}
}

func (w reportingWriter) Write(p []byte) (int, error) {
	w.writes <- struct{}{}
	return w.Writer.Write(p)
}

// TestServeEndsWhileChangeNotificationIsBlocked does not use synctest, because it blocks on a mutex.
func TestServeEndsWhileChangeNotificationIsBlocked(t *testing.T) {
	g := newGateway(t, Config{Offers: Offers{Prompts: true, PromptsChange: true}}, newFake())
	ctx, cancel := context.WithCancel(t.Context())
	in, say := io.Pipe()
	defer say.Close()
	read, out := io.Pipe() // a write waits for a read
	reporting := reportingWriter{out, make(chan struct{}, 2)}
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, in, reporting) }()
	if _, err := io.WriteString(say, initializeLine+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(read).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	g.announce(nil, changes{prompts: true})
	<-reporting.writes // the response to initialize
	<-reporting.writes // the notification
	cancel()
	select {
	case <-served:
	case <-time.After(stopGrace + 5*time.Second):
		t.Error("Serve does not return")
	}
	read.Close()
}
