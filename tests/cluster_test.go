//go:build unix

package tests

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// servedProject is a project with the server that has it at present, behind a balancer that knows it by name.
type servedProject struct {
	t       *testing.T
	name    string
	project string
	start   func() *exec.Cmd
	server  *server
	at      atomic.Pointer[url.URL]

	histories []*history
}

// serve starts a server that takes the project, and has the balancer use it.
func (s *servedProject) serve() {
	s.t.Helper()
	s.server = startServer(s.t, s.start())
	at, err := url.Parse(httpURL(s.t, s.server))
	if err != nil {
		s.t.Fatal(err)
	}
	s.at.Store(at)
}

// balancer routes /NAME to the server of the shard.
func balancer(t *testing.T, shards ...*servedProject) string {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			for _, s := range shards {
				if r.In.URL.Path == "/"+s.name {
					r.Out.URL, r.Out.Host = s.at.Load(), ""
				}
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return front.URL
}

// caller makes a call. problem is an error that a client could not repeat.
type caller func(tool, arguments string) (ok bool, problem string)

// history is what one client has done with a file of its own: whether each write was acknowledged.
type history struct {
	file         string // in the project
	acknowledged []bool
}

// run writes until stop is closed, each time a line that no other write has, with reads between. A write that was not acknowledged is not repeated:
// whether it was done is not known.
func (h *history) run(t *testing.T, call caller, stop chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		tool, arguments := "read_text_file", jsonOf(t, map[string]any{"path": h.file})
		if n%6 == 0 {
			tool = "edit_file"
			line := fmt.Sprintf("line %d.\n", len(h.acknowledged))
			arguments = jsonOf(t, map[string]any{"path": h.file, "edits": []any{map[string]any{"oldText": "the end", "newText": line + "the end"}}})
		}
		ok, problem := call(tool, arguments)
		if problem != "" {
			t.Errorf("%s: an error that is not retryable: %s", tool, problem)
			return
		}
		if tool == "edit_file" {
			h.acknowledged = append(h.acknowledged, ok)
		}
	}
}

// tryCall makes a call as a caller does.
func tryCall(r *http.Request) (ok bool, problem string) {
	status, body, err := answerOf(http.DefaultClient, r)
	switch {
	case err != nil, status == http.StatusBadGateway, status == http.StatusServiceUnavailable:
		return false, ""
	case strings.Contains(body, `"code":-32000`): // the server shuts down
		return false, ""
	case !isResult(status, body):
		return false, fmt.Sprintf("%d %s", status, body)
	}
	return true, ""
}

// answerOf returns the whole answer to a request, or why there is none.
func answerOf(client *http.Client, r *http.Request) (status int, body string, err error) {
	answer, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return answer.StatusCode, testenv.LastMessage(answer, string(data)), err
}

func isResult(status int, body string) bool {
	return status == http.StatusOK && strings.Contains(body, `"result"`) && !strings.Contains(body, `"isError":true`)
}

// check compares the history with the file in the directory of the project.
func (h *history) check(t *testing.T, project string) (writes int) {
	t.Helper()
	text := readFile(t, filepath.Join(project, h.file))
	for n, acknowledged := range h.acknowledged {
		done := strings.Count(text, fmt.Sprintf("line %d.\n", n))
		if acknowledged {
			writes++
		}
		if done > 1 || acknowledged && done == 0 {
			t.Errorf("%s: write %d, acknowledged: %t, was done %d times", h.file, n, acknowledged, done)
		}
	}
	return writes
}

// TestNoAcknowledgedWriteIsLost has clients write two projects through a balancer, while the server of one is killed and taken over, and that of the
// other drains and is replaced, several times.
func TestNoAcknowledgedWriteIsLost(t *testing.T) {
	t.Parallel()
	u := newShared(t)
	var shards []*servedProject
	for _, name := range []string{"one", "two"} {
		project := newDir(t, nil)
		s := &servedProject{t: t, name: name, project: project, start: func() *exec.Cmd { return u.http(project, "rw", "") }}
		s.serve()
		shards = append(shards, s)
	}
	front := balancer(t, shards...)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for _, s := range shards {
		for n := range 3 {
			h := &history{file: fmt.Sprintf("client-%d", n)}
			putFile(t, filepath.Join(s.project, h.file), "the end\n")
			s.histories = append(s.histories, h)
			clients.Go(func() {
				h.run(t, func(tool, arguments string) (bool, string) {
					return tryCall(callRequest(t, front+"/"+s.name, tool, arguments, ""))
				}, stop)
			})
		}
	}
	written := func(s *servedProject, after string) { // some write has reached the current server
		t.Helper()
		waitFor(t, "a write", func() bool {
			ok, _ := tryCall(callRequest(t, front+"/"+s.name, "write_file", jsonOf(t, map[string]any{"path": filepath.Join(s.project, after), "content": after}), ""))
			return ok
		})
	}
	for round := range 3 {
		for _, s := range shards {
			written(s, fmt.Sprintf("before-%d", round))
		}
		shards[0].server.kill()
		shards[0].serve()
		signal(t, shards[1].server.cmd, syscall.SIGTERM)
		shards[1].server.exit()
		shards[1].serve()
		for _, s := range shards {
			written(s, fmt.Sprintf("after-%d", round))
		}
	}
	close(stop)
	clients.Wait()
	total := 0
	for _, s := range shards {
		for _, h := range s.histories {
			total += h.check(t, s.project)
		}
	}
	if total == 0 {
		t.Error("no write was acknowledged")
	}
	t.Logf("%d writes were acknowledged", total)
}
