//go:build unix

package tests

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// shardsProxy is docs/deploy/haproxy-shards.cfg with the addresses of servers.
func shardsProxy(replicas, shards [2]string) proxyExample {
	proxy := proxies["haproxy"]
	proxy.file, proxy.args = "haproxy-shards.cfg", []string{"-W", "-db", "-f"}
	proxy.edits = []string{"bind :443", "bind 127.0.0.1:PORT", "/etc/haproxy/mcp.example.com.pem", "CERT",
		"127.0.0.1:8811", replicas[0], "127.0.0.1:8812", replicas[1], "127.0.0.1:8821", shards[0], "127.0.0.1:8822", shards[1]}
	return proxy
}

// shard is a server with an address of its own, and a directory that volumes are attached to.
type shard struct {
	address, dir, token string
	plugins             []string
	http                string // further lines of [http]
	program             string // empty: the one under test
	*server
}

// serve starts the server with the projects whose volumes are attached.
func (s *shard) serve(t *testing.T) {
	t.Helper()
	var config strings.Builder
	fmt.Fprintf(&config, "[server]\ndrain = \"30s\"\n[http]\nhosts = [\"mcp.example.com\"]\n%s", s.http)
	for _, plugin := range s.plugins {
		fmt.Fprintf(&config, "[[plugins]]\npath = %q\n", plugin)
	}
	volumes, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range volumes {
		dir := filepath.Join(s.dir, v.Name())
		fmt.Fprintf(&config, "[[projects]]\nname = %q\npath = %q\nstate = %q\n", v.Name(), dir+"/files", dir+"/state")
	}
	file := filepath.Join(t.TempDir(), "bulkhead.toml")
	putFile(t, file, config.String())
	cmd := programCommand(t, "serve", "--http", s.address, "--token-file", s.token, "--config", file)
	if s.program != "" {
		cmd.Path = s.program
	}
	s.server = startServer(t, cmd)
	httpURL(t, s.server)
}

// move moves a project to another shard, by the steps of docs/cluster.md. route has the balancer use that shard.
func (s *shard) move(t *testing.T, project string, to *shard, route func()) {
	t.Helper()
	s.drain(t)
	if err := os.Rename(filepath.Join(s.dir, project), filepath.Join(to.dir, project)); err != nil { // detach and attach
		t.Fatal(err)
	}
	s.serve(t)
	to.drain(t)
	to.serve(t)
	route()
}

// drain ends the server gracefully.
func (s *shard) drain(t *testing.T) {
	t.Helper()
	signal(t, s.cmd, syscall.SIGTERM)
	if code, _ := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// siteRoutes are the edits of haproxy-shards.cfg by which either shard has the project site.
var siteRoutes = [2][]string{{}, {"(site|docs)$", "(docs)$", "(wiki)$", "(wiki|site)$"}}

// secretFile returns a file that only its owner can read.
func secretFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestProjectMovesBetweenShards moves a project to another server and back, by the steps of docs/cluster.md, while clients write its files and the
// state of a plugin through HAProxy. Each acknowledged write is there once, and no other one twice.
func TestProjectMovesBetweenShards(t *testing.T) {
	t.Parallel()
	testenv.NotShort(t, "runs the built program")
	token := secretFile(t, podToken)
	root := newDir(t, map[string]string{"a/site/files/journal.txt": "end", "b/.keep": ""})
	if err := os.Remove(root + "/b/.keep"); err != nil {
		t.Fatal(err)
	}
	plugins := []string{filepath.Join(built.plugins(t), "filesystem"), filepath.Join(built.plugins(t), "memory")}
	shards := [2]*shard{{address: freeAddress(t), dir: root + "/a", token: token, plugins: plugins}, {address: freeAddress(t), dir: root + "/b", token: token, plugins: plugins}}
	for _, s := range shards {
		s.serve(t)
	}
	addresses := [2]string{shards[0].address, shards[1].address}
	base, transport, reload := shardsProxy(addresses, addresses).start(t)
	client := &http.Client{Transport: transport}

	w := &journalWriters{client: client, url: base + "/mcp/site"}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for id := range 3 {
		writers.Go(func() { w.write(t, id, stop) })
	}
	w.wait(t, 5)
	for from, to := range []int{1, 0} {
		shards[from].move(t, "site", shards[to], func() { reload(siteRoutes[to]...) })
		w.wait(t, w.acknowledged.Load()+5)
	}
	close(stop)
	writers.Wait()

	journal := strings.Split(readFile(t, root+"/a/site/files/journal.txt"), "\n")
	graph := readFile(t, root+"/a/site/state/memory/memory.jsonl")
	for _, line := range w.done {
		if n := count(journal, line); n != 1 {
			t.Errorf("the journal has %d lines %q, which was acknowledged", n, line)
		}
		if n := strings.Count(graph, fmt.Sprintf("%q", line)); n != 1 {
			t.Errorf("the graph has %d entities %q, which was acknowledged", n, line)
		}
	}
	slices.Sort(journal)
	if unique := slices.Compact(slices.Clone(journal)); len(unique) != len(journal) {
		t.Errorf("lines were written twice: %q", journal)
	}
	if w.refused.Load() == 0 {
		t.Error("no request was refused while the project moved: the test has not written meanwhile")
	}
}

func count(list []string, item string) (n int) {
	for _, have := range list {
		if have == item {
			n++
		}
	}
	return n
}

// journalWriters append lines to a file of a project, and add entities to the state of a plugin there. They repeat no call.
type journalWriters struct {
	client       *http.Client
	url          string
	acknowledged atomic.Int64
	refused      atomic.Int64

	mu   sync.Mutex
	done []string // lines whose writes were both acknowledged
}

func (w *journalWriters) write(t *testing.T, id int, stop chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		line := fmt.Sprintf("line-%d-%d-", id, n)
		if w.call(t, "edit_file", fmt.Sprintf(`{"path":"journal.txt","edits":[{"oldText":"end","newText":"%s\nend"}]}`, line)) &&
			w.call(t, "create_entities", fmt.Sprintf(`{"entities":[{"name":%q,"entityType":"line","observations":[]}]}`, line)) {
			w.mu.Lock()
			w.done = append(w.done, line)
			w.mu.Unlock()
			w.acknowledged.Add(1)
		}
	}
}

// call reports whether a call was acknowledged. Otherwise the answer must be one that a client may meet while a project moves.
func (w *journalWriters) call(t *testing.T, tool, arguments string) bool {
	r, err := http.NewRequest(http.MethodPost, w.url, strings.NewReader(fmt.Sprintf(callMessage, tool, arguments)))
	if err != nil {
		t.Error(err)
		return false
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + podToken,
		"MCP-Protocol-Version": modernVersion, "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		r.Header.Set(name, value)
	}
	response, err := w.client.Do(r)
	if err == nil {
		defer response.Body.Close()
		var body []byte
		if body, err = io.ReadAll(response.Body); err == nil {
			switch {
			case response.StatusCode == http.StatusOK && strings.Contains(string(body), `"result"`) && !strings.Contains(string(body), `"isError":true`):
				return true
			case !slices.Contains([]int{http.StatusNotFound, http.StatusBadGateway, http.StatusServiceUnavailable}, response.StatusCode) && !strings.Contains(string(body), "-32000"):
				t.Errorf("%s: %d %s", tool, response.StatusCode, body)
			}
		}
	}
	w.refused.Add(1)
	time.Sleep(20 * time.Millisecond) // as a client that retries
	return false
}

// wait returns when so many lines were acknowledged.
func (w *journalWriters) wait(t *testing.T, lines int64) {
	t.Helper()
	for deadline := time.Now().Add(2 * patience); w.acknowledged.Load() < lines; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d lines were acknowledged, want %d", w.acknowledged.Load(), lines)
		}
	}
}

// TestSessionsStayAtTheirReplica opens sessions through HAProxy, which learns from the answer which replica has a session. Without that, requests
// reach replicas that do not know it.
func TestSessionsStayAtTheirReplica(t *testing.T) {
	t.Parallel()
	testenv.NotShort(t, "runs the built program")
	var replicas [2]string
	config := filepath.Join(t.TempDir(), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[http]\nhosts = [\"mcp.example.com\"]\n[[plugins]]\npath = %q\n", filepath.Join(built.plugins(t), "time")))
	for i := range replicas {
		replicas[i] = hostOf(serveHTTP(t, programCommand(t, "serve", "--http", "127.0.0.1:0", "--config", config)))
	}
	for affinity, want := range map[bool]bool{true: true, false: false} {
		proxy := shardsProxy(replicas, replicas)
		if !affinity {
			proxy.edits = append(slices.Clone(proxy.edits), "balance leastconn", "balance roundrobin", "    stick match", "    # stick match")
		}
		base, transport, _ := proxy.start(t)
		stayed := true
		for range 4 {
			send := func(id, body string) *http.Response {
				r, err := http.NewRequest(http.MethodPost, base+"/mcp", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				if id != "" {
					r.Header.Set("Mcp-Session-Id", id)
				}
				response, err := (&http.Client{Transport: transport}).Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				return response
			}
			session := send("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`).Header.Get("Mcp-Session-Id")
			if session == "" {
				t.Fatal("initialize opened no session")
			}
			for n := range 4 {
				if code := send(session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, n+2)).StatusCode; code != http.StatusOK {
					stayed = false
					if code != http.StatusNotFound {
						t.Errorf("status %d", code)
					}
				}
			}
		}
		if stayed != want {
			t.Errorf("with affinity %v: sessions stay is %v", affinity, stayed)
		}
	}
}
