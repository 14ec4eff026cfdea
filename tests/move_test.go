//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
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
func shardsProxy(t *testing.T, replicas, shards [2]string) proxyExample {
	t.Helper()
	proxy, peer := proxies["haproxy"], freeAddress(t)
	proxy.file, proxy.args = "haproxy-shards.cfg", []string{"-W", "-db", "-f"}
	proxy.edits = []string{"bind :443", "bind 127.0.0.1:PORT", "/etc/haproxy/mcp.example.com.pem", "CERT", "127.0.0.1:10000", peer,
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
	base, transport, reload := shardsProxy(t, addresses, addresses).start(t)
	client := &http.Client{Transport: transport}

	w := &journalWriters{client: client, url: base + "/mcp/site", acknowledgedBy: map[string][]string{}}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for id := range 3 {
		writers.Go(func() { w.write(t, id, stop) })
	}
	w.wait(t, 10)
	for from, to := range []int{1, 0} {
		shards[from].move(t, "site", shards[to], func() { reload(siteRoutes[to]...) })
		w.wait(t, w.acknowledged.Load()+10)
	}
	close(stop)
	writers.Wait()

	journal := strings.Split(readFile(t, root+"/a/site/files/journal.txt"), "\n")
	var entities []string
	for line := range strings.Lines(readFile(t, root+"/a/site/state/memory/memory.jsonl")) {
		var entity struct{ Name string }
		if err := json.Unmarshal([]byte(line), &entity); err != nil {
			t.Fatal(err)
		}
		entities = append(entities, entity.Name)
	}
	for tool, have := range map[string][]string{"edit_file": journal, "create_entities": entities} {
		for _, line := range w.acknowledgedBy[tool] {
			if !slices.Contains(have, line) {
				t.Errorf("%s: %q was acknowledged, and is lost", tool, line)
			}
		}
		slices.Sort(have)
		if unique := slices.Compact(slices.Clone(have)); len(unique) != len(have) {
			t.Errorf("%s: lines were written twice: %q", tool, have)
		}
	}
	if w.refused.Load() == 0 {
		t.Error("no request was refused while the project moved: the test has not written meanwhile")
	}
}

// journalWriters append lines to a file of a project, and add entities to the state of a plugin there. They repeat no call.
type journalWriters struct {
	client       *http.Client
	url          string
	acknowledged atomic.Int64
	refused      atomic.Int64

	mu             sync.Mutex
	acknowledgedBy map[string][]string // lines, by the tools that have acknowledged them
}

func (w *journalWriters) write(t *testing.T, id int, stop chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		line := fmt.Sprintf("line-%d-%d-", id, n)
		w.call(t, line, "edit_file", fmt.Sprintf(`{"path":"journal.txt","edits":[{"oldText":"end","newText":"%s\nend"}]}`, line))
		w.call(t, line, "create_entities", fmt.Sprintf(`{"entities":[{"name":%q,"entityType":"line","observations":[]}]}`, line))
	}
}

// call writes a line, and notes whether that was acknowledged. Otherwise the answer must be one that a client may meet while a project moves.
func (w *journalWriters) call(t *testing.T, line, tool, arguments string) {
	r, err := http.NewRequest(http.MethodPost, w.url, strings.NewReader(fmt.Sprintf(callMessage, tool, arguments)))
	if err != nil {
		t.Error(err)
		return
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
				w.mu.Lock()
				w.acknowledgedBy[tool] = append(w.acknowledgedBy[tool], line)
				w.mu.Unlock()
				w.acknowledged.Add(1)
				return
			case !slices.Contains([]int{http.StatusNotFound, http.StatusBadGateway, http.StatusServiceUnavailable}, response.StatusCode) && !strings.Contains(string(body), "-32000"):
				t.Errorf("%s: %d %s", tool, response.StatusCode, body)
			}
		}
	}
	w.refused.Add(1)
	time.Sleep(20 * time.Millisecond) // as a client that retries
}

// wait returns when so many writes were acknowledged.
func (w *journalWriters) wait(t *testing.T, writes int64) {
	t.Helper()
	for deadline := time.Now().Add(2 * patience); w.acknowledged.Load() < writes; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d writes were acknowledged, want %d", w.acknowledged.Load(), writes)
		}
	}
}

// TestSessionsStayAtTheirReplica opens sessions through HAProxy, which learns from the answer which replica has a session, and reloads it. Without the
// lines for that, requests reach replicas that do not know the session. The lines are those of haproxy-shards.cfg, and those of the annotation for
// HAProxy's ingress controller.
func TestSessionsStayAtTheirReplica(t *testing.T) {
	t.Parallel()
	testenv.NotShort(t, "runs the built program")
	var replicas [2]string
	config := filepath.Join(t.TempDir(), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[http]\nhosts = [\"mcp.example.com\"]\n[[plugins]]\npath = %q\n", filepath.Join(built.plugins(t), "time")))
	for i := range replicas {
		replicas[i] = hostOf(serveHTTP(t, programCommand(t, "serve", "--http", "127.0.0.1:0", "--config", config)))
	}
	affinity := stickLines(t, readFile(t, "../docs/deploy/haproxy-shards.cfg"))
	for name, c := range map[string]struct {
		edits         []string
		stay, survive bool // whether sessions stay, and whether they do after a reload
	}{
		"as it is":         {nil, true, true},
		"the annotation":   {[]string{affinity, controllerLines(t), "peers local\n", controllerPeers}, true, true},
		"without affinity": {[]string{affinity, ""}, false, false},
		"without peers":    {[]string{" peers local\n", "\n"}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, cli := shardsProxy(t, replicas, replicas), freeAddress(t)
			proxy.log = &logBuffer{}
			proxy.frame = "global\n    stats socket ipv4@" + cli + "\n%s"
			// The edits come first, since those of shardsProxy are in parts of what they add. Without the table, each request goes to the next replica.
			proxy.edits = slices.Concat(c.edits, proxy.edits, []string{"balance leastconn", "balance roundrobin"})
			base, transport, reload := proxy.start(t)
			sessions := make([]proxiedSession, 8)
			for i := range sessions {
				sessions[i] = proxiedSession{&http.Client{Transport: transport}, base + "/mcp", ""}
				if sessions[i].id = sessions[i].post(t, initializeLegacy).Header.Get("Mcp-Session-Id"); sessions[i].id == "" {
					t.Fatal("initialize opened no session")
				}
			}
			if stay := areKnown(t, sessions); stay != c.stay {
				t.Errorf("sessions stay: %t, want %t", stay, c.stay)
			}
			if c.survive {
				waitFor(t, "the end of the five seconds after a start in which HAProxy waits for a former process", func() bool { return hasPeers(cli) })
			}
			reload()
			transport.CloseIdleConnections()
			waitFor(t, "the end of the process before the reload, which has sent its table", func() bool { return strings.Contains(proxy.log.String(), "Former worker") })
			if stay := areKnown(t, sessions); stay != c.survive {
				t.Errorf("sessions stay after a reload: %t, want %t", stay, c.survive)
			}
		})
	}
}

// hasPeers asks HAProxy whether it is done with looking for tables of others. Before that, it passes its own on to no process.
func hasPeers(cli string) bool {
	conn, err := net.Dial("tcp", cli)
	if err != nil {
		return false
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "show peers\n"); err != nil {
		return false
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return false
	}
	_, flags, _ := strings.Cut(string(answer), "flags=0x")
	flags, _, _ = strings.Cut(flags, " ")
	return strings.HasSuffix(flags, "3") // finished, from local processes and from others
}

// stickLines are the lines of a config of HAProxy about its table of sessions.
func stickLines(t *testing.T, config string) string {
	t.Helper()
	at := strings.Index(config, "    stick-table")
	end := strings.LastIndex(config, "    stick ")
	if at < 0 || end < at {
		t.Fatal("there is no table of sessions")
	}
	return config[at : end+strings.IndexByte(config[end:], '\n')+1]
}

// controllerPeers is what the config of HAProxy's ingress controller has instead of `peers local`, where the name of the process is local.
const controllerPeers = "peers localinstance\n"

// controllerLines are those of the annotation for HAProxy's ingress controller.
func controllerLines(t *testing.T) string {
	t.Helper()
	var ingress struct {
		Metadata struct{ Annotations map[string]string }
	}
	readManifest(t, "stateless/ingress.yaml", &ingress)
	lines := ingress.Metadata.Annotations["haproxy.org/backend-config-snippet"]
	if lines == "" {
		t.Fatal("the ingress of the replicas has no lines for the backend")
	}
	return lines
}

// proxiedSession is a session of a version before 2026-07-28.
type proxiedSession struct {
	client  *http.Client
	url, id string
}

const initializeLegacy = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

func (s proxiedSession) post(t *testing.T, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if s.id != "" {
		r.Header.Set("Mcp-Session-Id", s.id)
	}
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	return response
}

// areKnown reports whether requests of all sessions reach the replicas that have them: the sessions of one replica first, as far as they were opened
// in turns.
func areKnown(t *testing.T, sessions []proxiedSession) bool {
	t.Helper()
	known := true
	for n := range 4 * len(sessions) {
		s := sessions[(2*n+n/(len(sessions)/2))%len(sessions)]
		switch code := s.post(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, n+2)).StatusCode; code {
		case http.StatusOK:
		case http.StatusNotFound:
			known = false
		default:
			t.Errorf("status %d", code)
		}
	}
	return known
}
