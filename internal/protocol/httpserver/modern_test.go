package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestModernRequestsNeedNoSession(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		body, headers := modernCall("echo", `{"a":"<b>"}`)
		got := f.post(strings.Replace(body, `"id":1`, `"id":12345678901234567890`, 1), headers...)
		got.want(t, http.StatusOK, `{"jsonrpc":"2.0","id":12345678901234567890,"result":{"resultType":"complete","content":[{"type":"text","text":"{\"a\":\"<b>\"}"}]`)
		if got.header.Get("Content-Type") != "application/json" || got.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("headers: %v", got.header)
		}
		body, headers = modern("server/discover", "", "")
		f.post(body, append(headers, "Mcp-Session-Id", "anything")...).want(t, http.StatusOK, `"supportedVersions"`)
	})
}

// TestModernHeadersAreComparedWithBody checks status and code of requests whose header and body disagree.
func TestModernHeadersAreComparedWithBody(t *testing.T) {
	body, usual := modernCall("echo", `{}`)
	cases := map[string]struct {
		body    string
		headers []string
		status  int
		want    string
	}{
		"as usual":                      {body, nil, 200, `"result"`},
		"no version":                    {body, []string{"MCP-Protocol-Version", ""}, 400, `-32020`},
		"another version":               {body, []string{"MCP-Protocol-Version", "2025-11-25"}, 400, `-32020`},
		"version given twice":           {body, []string{"MCP-Protocol-Version", "2026-07-28\x002026-07-28"}, 400, `-32020`},
		"no version in the body":        {strings.Replace(body, `"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, "", 1), nil, 400, `-32602`},
		"unsupported version":           {strings.Replace(body, "2026-07-28", "2099-01-01", 1), []string{"MCP-Protocol-Version", "2099-01-01"}, 400, `-32022`},
		"no method":                     {body, []string{"Mcp-Method", ""}, 400, `-32020`},
		"another method":                {body, []string{"Mcp-Method", "tools/list"}, 400, `-32020`},
		"method in another case":        {body, []string{"Mcp-Method", "Tools/Call"}, 400, `-32020`},
		"no name":                       {body, []string{"Mcp-Name", ""}, 400, `-32020`},
		"another name":                  {body, []string{"Mcp-Name", "other"}, 400, `-32020`},
		"name in Base64":                {body, []string{"Mcp-Name", "=?base64?ZWNobw==?="}, 200, `"result"`},
		"another name in Base64":        {body, []string{"Mcp-Name", "=?base64?ZWNoYQ==?="}, 400, `-32020`},
		"invalid Base64":                {body, []string{"Mcp-Name", "=?base64?ZWNobw=?="}, 400, `-32020`},
		"name that is not ASCII":        {body, []string{"Mcp-Name", "ech\xf6"}, 400, `-32020`},
		"no capabilities":               {strings.Replace(body, "clientCapabilities", "x", 1), nil, 400, `-32602`},
		"unknown tool":                  {strings.Replace(body, `"echo"`, `"unknown"`, 1), []string{"Mcp-Name", "unknown"}, 400, `-32602`},
		"batch":                         {"[" + body + "]", nil, 400, `-32600`},
		"response":                      {`{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 400, `-32600`},
		"notification":                  {`{"jsonrpc":"2.0","method":"notifications/x"}`, nil, 202, ``},
		"ping":                          {strings.Replace(body, "tools/call", "ping", 1), []string{"Mcp-Method", "ping"}, 404, `-32601`},
		"initialize of the modern era":  {strings.Replace(body, "tools/call", "initialize", 1), []string{"Mcp-Method", "initialize"}, 404, `-32601`},
		"parameters that are no object": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, nil, 400, `-32602`},
	}
	run(t, Config{}, func(t *testing.T, f *fixture) {
		for name, c := range cases {
			got := f.post(c.body, append(append([]string{}, usual...), c.headers...)...)
			if got.status != c.status || !strings.Contains(got.body, c.want) {
				t.Errorf("%s: got %d %s, want %d %s", name, got.status, got.body, c.status, c.want)
			}
		}
	})
}

func TestParametersInHeadersAreComparedWithArguments(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		for arguments, cases := range map[string]map[string]int{
			`{"region":"eu","count":42.0}`: {"eu 42": 200, "us 42": 400, "eu 43": 400, "eu ": 400, " 42": 400, "eu 4.2e1": 200, "=?base64?ZXU=?= 42": 200, "=?base64?ZX?= 42": 400},
			`{"region":null}`:              {" ": 200, "eu ": 400},
			`{}`:                           {" ": 200, " 1": 400},
			`{"region":"a","region":"b"}`:  {"a ": 400, "b ": 400},
		} {
			for values, status := range cases {
				region, count, _ := strings.Cut(values, " ")
				body, headers := modernCall("region", arguments)
				got := f.post(body, append(headers, "Mcp-Param-Region", region, "Mcp-Param-Count", count, "Mcp-Param-Other", "x")...)
				if got.status != status || status == 400 && !strings.Contains(got.body, "-32020") {
					t.Errorf("%s with %q: got %d %s, want %d", arguments, values, got.status, got.body, status)
				}
			}
		}
	})
}

func TestNotificationsMakeTheAnswerAStream(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		body, headers := modernCall("progress", `{}`)
		body = strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":"t",`, 1)
		e := f.stream(http.MethodPost, body, headers...)
		e.want("", `"params":{"progressToken":"t","progress":1}`)
		e.want("", `"progress":2`)
		e.want("", `"progress":3`)
		e.want("", `"id":1,"result"`)
		e.want("", "")
	})
}

func TestSlowCallMakesTheAnswerAStream(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		body, headers := modernCall("hold", `{}`)
		begin := time.Now()
		e := f.stream(http.MethodPost, body, headers...) // returns when the headers are there
		if took := time.Since(begin); took != streamAfter {
			t.Errorf("the stream began after %v", took)
		}
		for range 3 { // longer than a single write may take
			e.want("", ":")
		}
		f.b.release <- struct{}{}
		e.want("", `"result"`)
		e.want("", "")
	})
}

// TestAnswerBeginsBeforeCallHasAnEffect has calls announce that they have an effect from now on. What repeats requests without an answer, such as proxies,
// must not do so from then on. If the response comes soon, older clients have nothing to resume.
func TestAnswerBeginsBeforeCallHasAnEffect(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		for _, version := range []string{"2025-03-26", "2025-03-26 batch", "2025-11-25", "2026-07-28"} {
			body, headers := modernCall("write_hold", `{}`)
			calls := 1
			version, batch, _ := strings.Cut(version, " ")
			if version < "2026-07-28" {
				body, headers = legacyCall(1, "write_hold"), []string{"Mcp-Session-Id", f.open(version), "MCP-Protocol-Version", version}
			}
			if batch != "" {
				body, calls = "["+body+","+legacyCall(2, "write_hold")+"]", 2
			}
			begin := time.Now()
			e := f.stream(http.MethodPost, body, headers...)
			if took := time.Since(begin); took != 0 {
				t.Errorf("%s: the answer began after %v", version, took)
			}
			for range calls {
				<-f.b.started
				f.b.release <- struct{}{}
			}
			e.want(map[bool]string{true: "", false: "2-1"}[version == "2026-07-28"], `"result"`)
			for _, s := range f.s.sessions.byID {
				if len(s.streams) > 0 {
					t.Errorf("%s: %d streams are kept", version, len(s.streams))
				}
			}
		}
	})
}

// TestAnnouncementDoesNotWaitForClient has a call announce itself to clients that do not read the header, that have gone, and that cancel.
func TestAnnouncementDoesNotWaitForClient(t *testing.T) {
	for name, act := range map[string]func(s *stream, r *reader, cancel func()){
		"does not read": func(*stream, *reader, func()) {},
		"has gone":      func(s *stream, r *reader, _ func()) { s.detach(r) },
		"cancels":       func(_ *stream, _ *reader, cancel func()) { cancel() },
		"was answered":  func(s *stream, _ *reader, _ func()) { s.Skip() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := newStream(1, &budget{max: 1 << 20})
				r := s.attach(0)
				begin, done := time.Now(), make(chan struct{})
				for range 2 { // calls of a batch
					go func() {
						s.Announce(ctx)
						done <- struct{}{}
					}()
				}
				synctest.Wait()
				act(s, r, cancel)
				<-done
				<-done
				want := time.Duration(0)
				if name == "does not read" {
					want = announceTimeout
				}
				if took := time.Since(begin); took != want {
					t.Errorf("it took %v, want %v", took, want)
				}
			})
		})
	}
}

func TestEndOfConnectionCancelsModernCall(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		body, headers := modernCall("hold", `{}`)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := f.send(ctx, http.MethodPost, Path, body, headers...); err == nil {
				t.Error("the request has an answer")
			}
		}()
		<-f.b.started
		cancel()
		<-f.b.cancelled
		<-done
	})
}

func TestListenGetsChangesUntilItEnds(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		body, headers := modern("subscriptions/listen", "", `"notifications":{"resourceSubscriptions":["note://1"]},`)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		first := f.stream(http.MethodPost, body, headers...)
		first.want("", `"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["note://1"]},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}`)
		r, err := f.send(ctx, http.MethodPost, Path, body, headers...)
		if err != nil {
			t.Fatal(err)
		}
		call, callHeaders := modernCall("update", `{}`)
		f.post(call, callHeaders...).want(t, 200, "result")
		first.want("", `"notifications/resources/updated","params":{"uri":"note://1","_meta":{"io.modelcontextprotocol/subscriptionId":1}}`)
		cancel()
		r.Body.Close()
		synctest.Wait()
		if len(f.s.streams) != 1 {
			t.Errorf("%d streams are open, want 1", len(f.s.streams))
		}
		f.stop()
		first.want("", `"id":1,"result":{"resultType":"complete"`)
		first.want("", "")
	})
}

// TestClientThatDoesNotReadIsCutOff checks that a client that stops reading blocks neither others nor the backend for longer
// than the time-out.
func TestClientThatDoesNotReadIsCutOff(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		body, headers := modernCall("flood", `{}`)
		body = strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":"t",`, 1)
		e := f.stream(http.MethodPost, body, headers...)
		e.want("", `"progress":0`)
		synctest.Wait() // the server cannot write any more
		call, callHeaders := modernCall("echo", `{}`)
		f.post(call, callHeaders...).want(t, 200, "result")
		<-f.b.answered
		time.Sleep(writeTimeout + time.Second)
		synctest.Wait()
		select {
		case <-f.b.answered:
		default:
			t.Error("the call still runs")
		}
		if used := f.s.messages.used.Load(); used != 0 {
			t.Errorf("%d bytes are still counted", used)
		}
		e.body.Close()
	})
}

// TestLargeResponseHoldsNothingOfTheBackend checks that a response that is not read does not keep a place of the backend.
func TestLargeResponseHoldsNothingOfTheBackend(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		body, headers := modernCall("large", `{}`)
		r, err := f.send(t.Context(), http.MethodPost, Path, body, headers...)
		if err != nil {
			t.Fatal(err)
		}
		<-f.b.answered // although the body is not read
		r.Body.Close()
		synctest.Wait()
		if used := f.s.messages.used.Load(); used != 0 {
			t.Errorf("%d bytes are still counted", used)
		}
	})
}

// TestSubscriptionsOfAllClientsAreBounded checks that clients share a bound on the memory of what they listen to.
func TestSubscriptionsOfAllClientsAreBounded(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		long := strings.Repeat("x", 1000)
		var uris []string
		for n := range 900 {
			uris = append(uris, fmt.Sprintf(`"note://%d/%s"`, n, long))
		}
		body, headers := modern("subscriptions/listen", "", `"notifications":{"resourceSubscriptions":[`+strings.Join(uris, ",")+`]},`)
		var open []*events
		for range 17 {
			open = append(open, f.stream(http.MethodPost, body, headers...))
		}
		f.post(body, headers...).want(t, http.StatusBadRequest, "those of all clients")
		open[0].body.Close()
		synctest.Wait()
		f.stream(http.MethodPost, body, headers...)
	})
}
