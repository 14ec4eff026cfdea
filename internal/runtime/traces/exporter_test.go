package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
)

// fake answers requests without a network.
type fake func(*http.Request) (*http.Response, error)

func (f fake) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(r *http.Request, status int, body string, headers ...string) *http.Response {
	a := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r, ContentLength: -1}
	for i := 0; i < len(headers); i += 2 {
		a.Header.Set(headers[i], headers[i+1])
	}
	return a
}

// endless is a body without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// stopped is a body that does not go on until the request is given up.
type stopped struct{ ctx context.Context }

func (s stopped) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// sizeOf returns the number of spans in the body of a request.
func sizeOf(t *testing.T, r *http.Request) int {
	t.Helper()
	unpacked, err := gzip.NewReader(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	var request otlpRequest
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	return len(request.ResourceSpans[0].ScopeSpans[0].Spans)
}

// exporter returns an Exporter whose requests are answered by answers, and its log.
func exporter(answers fake) (*Exporter, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return New(Config{To: "https://collector.example/secret-path", Version: "1", Log: hclog.New(&hclog.LoggerOptions{Output: log}), Client: download.Client{Transport: answers}}), log
}

func spans(n int) []Span {
	all := make([]Span, n)
	for i := range all {
		all[i] = Span{Name: "s", Begin: time.Now(), End: time.Now()}
	}
	return all
}

// TestSpansAreRetried has a collector fail in ways after which OTLP has clients try again, or not.
func TestSpansAreRetried(t *testing.T) {
	for name, c := range map[string]struct {
		first      func(*http.Request) (*http.Response, error)
		times      int // that it fails so
		tries      int
		wait       time.Duration
		sent, lost int64
		log        string
	}{
		"unavailable": {func(r *http.Request) (*http.Response, error) { return answer(r, 503, ""), nil }, 2, 3, 3 * time.Second, 2, 0, "status 503"},
		"retry-after": {func(r *http.Request) (*http.Response, error) { return answer(r, 429, "", "Retry-After", "7"), nil }, 1, 2, 7 * time.Second, 2, 0, "status 429"},
		"a long wait": {func(r *http.Request) (*http.Response, error) {
			return answer(r, 429, "", "Retry-After", "99999999"), nil
		}, 1, 2, maxWait, 2, 0, "status 429"},
		"a date": {func(r *http.Request) (*http.Response, error) {
			return answer(r, 503, "", "Retry-After", time.Now().Add(5*time.Second).UTC().Format(http.TimeFormat)), nil
		}, 1, 2, 5 * time.Second, 2, 0, "503"},
		"no connection": {func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
		}, 1, 2, time.Second, 2, 0, "refused"},
		"never there": {func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
		}, 99, maxTries, 15 * time.Second, 0, 2, "refused"},
		"not retryable": {func(r *http.Request) (*http.Response, error) { return answer(r, 400, ""), nil }, 9, 1, 0, 0, 2, "status 400"},
		"a redirect": {func(r *http.Request) (*http.Response, error) {
			return answer(r, 307, "", "Location", "https://other.example/"), nil
		}, 9, 1, 0, 0, 2, "status 307"},
		"never ends": {func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }, 1, 2, postTime + time.Second, 2, 0, "deadline"},
		"rejects one": {func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too\u001b old"}}`), nil
		}, 9, 1, 0, 1, 1, "too"},
		"no whole number": {func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, `{"partialSuccess":{"rejectedSpans":1e3}}`), nil
		}, 9, 1, 0, 2, 0, ""},
		"rejects a million": {func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, `{"partialSuccess":{"rejectedSpans":1000000}}`), nil
		}, 9, 1, 0, 0, 2, "rejects"},
		"answers nonsense": {func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, "<html>"+strings.Repeat("x", maxAnswer)), nil
		}, 9, 1, 0, 2, 0, ""},
		"answers without end": {func(r *http.Request) (*http.Response, error) {
			a := answer(r, 200, "")
			a.Body = io.NopCloser(endless{})
			return a, nil
		}, 9, 1, 0, 2, 0, ""},
		"stops in its answer": {func(r *http.Request) (*http.Response, error) {
			a := answer(r, 200, "")
			a.Body = io.NopCloser(stopped{r.Context()})
			return a, nil
		}, 9, 1, 0, 2, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				e, log := exporter(func(r *http.Request) (*http.Response, error) {
					at = append(at, time.Now())
					if r.URL.String() != "https://collector.example/secret-path/v1/traces" || sizeOf(t, r) != 2 {
						t.Errorf("%s", r.URL)
					}
					if len(at) <= c.times {
						return c.first(r)
					}
					return answer(r, 200, "{}"), nil
				})
				begin := time.Now()
				e.Add(spans(2))
				time.Sleep(5 * time.Minute)
				e.Close(t.Context())
				if got := e.Stats(); got != (Stats{c.sent, c.lost}) || len(at) != c.tries {
					t.Errorf("%+v after %d tries", got, len(at))
				}
				if waited := at[len(at)-1].Sub(at[0]); at[0].Sub(begin) != gather || waited.Round(time.Second) != c.wait {
					t.Errorf("begun after %s, tried for %s", at[0].Sub(begin), waited)
				}
				if text := log.String(); !strings.Contains(text, c.log) || strings.Count(text, "[WARN]") > 1 || strings.Contains(text, "secret-path") || strings.Contains(text, "\x1b") || c.log == "" && text != "" {
					t.Errorf("logged %s", text)
				}
			})
		})
	}
}

// TestQueueOfSpansIsBounded has a collector that does not answer: calls go on, memory is bounded, and what is lost is counted.
func TestQueueOfSpansIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		largest := 0
		e, _ := exporter(func(r *http.Request) (*http.Response, error) {
			largest = max(largest, sizeOf(t, r))
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		begin := time.Now()
		for range 3 * maxQueued {
			e.Add(spans(2))
		}
		if time.Since(begin) != 0 {
			t.Error("Add waits for the collector")
		}
		e.mu.Lock()
		n := len(e.queue)
		e.mu.Unlock()
		if n > maxQueued {
			t.Errorf("%d spans are queued", n)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		e.Close(ctx)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("Close took %s", took)
		}
		e.Add(spans(1))
		if got := e.Stats(); got.Sent != 0 || got.Dropped != 6*maxQueued+1 || largest != maxBatch {
			t.Errorf("%+v, batches of %d", got, largest)
		}
	})
}

// TestCloseSendsTheRest closes an Exporter before it would have sent.
func TestCloseSendsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		e, _ := exporter(func(r *http.Request) (*http.Response, error) {
			n += sizeOf(t, r)
			return answer(r, 200, ""), nil
		})
		begin := time.Now()
		e.Add(spans(maxBatch + 1))
		e.Close(t.Context())
		if n != maxBatch+1 || time.Since(begin) != 0 || e.Stats().Sent != maxBatch+1 {
			t.Errorf("%d spans were sent in %s: %+v", n, time.Since(begin), e.Stats())
		}
	})
}

func FuzzRejected(f *testing.F) {
	f.Add([]byte(`{"partialSuccess":{"rejectedSpans":"1","errorMessage":"m"}}`))
	f.Add([]byte(`{"partialSuccess":{"rejectedSpans":-1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if n, _ := rejected(text); n < 0 {
			t.Errorf("%q: %d", text, n)
		}
	})
}
