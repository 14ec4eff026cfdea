package gateway

import (
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// writeLog keeps the data of each Write.
type writeLog struct{ writes []string }

func (w *writeLog) Write(p []byte) (int, error) {
	w.writes = append(w.writes, string(p))
	return len(p), nil
}

func TestResponsesOfConcurrentCallsShareOneWrite(t *testing.T) {
	for _, c := range []struct {
		name    string
		several bool
		size    int // bytes of each response
		writes  int
	}{
		{"several calls", true, 10, 1},
		{"responses that are too large to be gathered", true, gatheredBuffer, 3},
		{"responses outside of calls", false, 10, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out writeLog
				w := newWriter(&out, nil, func() bool { return c.several })
				w.writing.acquire(nil) // so that all responses are ready when the first is added
				var all sync.WaitGroup
				for range 3 {
					all.Go(func() { w.Respond(Response{ID: []byte("1"), Result: []byte(`"` + strings.Repeat("x", c.size) + `"`)}) })
				}
				synctest.Wait()
				w.writing.release()
				all.Wait()
				if text := strings.Join(out.writes, ""); len(out.writes) != c.writes || strings.Count(text, `"}`+"\n") != 3 {
					t.Errorf("%d writes of %d lines, want %d of 3", len(out.writes), strings.Count(text, "\n"), c.writes)
				}
			})
		})
	}
}

func TestClosedWriterReleasesGatheredResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked, end := io.Pipe()
		defer blocked.Close()
		w := newWriter(end, nil, func() bool { return true })
		var all sync.WaitGroup
		go w.Put([]byte("blocks in Write"))
		synctest.Wait()
		for range 3 {
			all.Go(func() { w.Respond(Response{ID: []byte("1"), Result: []byte(`{}`)}) })
		}
		synctest.Wait()
		w.close()
		all.Wait()
		_ = blocked.CloseWithError(io.ErrClosedPipe)
	})
}
