//go:build linux

package tests

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var loadTime = flag.Duration("load", 0, "how long the test of the load of twenty clients takes; 0: it does not run")

// mostCost is how much more the calls of twenty clients may cost than those of one.
const mostCost = 1.15

// loadTools are the tools of the load; each role may call two of them.
var loadTools = []string{"get_file_info", "list_directory", "read_text_file", "list_allowed_directories", "list_directory_with_sizes"}

// loadArguments are the arguments of their calls.
var loadArguments = map[string]string{"absent": `{}`, "get_file_info": `{"path":"file.txt"}`, "list_directory": `{"path":"."}`, "read_text_file": `{"path":"file.txt"}`,
	"list_allowed_directories": `{}`, "list_directory_with_sizes": `{"path":"."}`}

// loaded is a server with clients that call it.
type loaded struct {
	*server
	t       *testing.T
	url     string
	tokens  []string
	roles   bool // whether each client has one of five roles; otherwise one client makes all calls
	workers map[int]bool
	before  int // ticks of processor time before the calls
}

func (s *loaded) rights(client int) []string {
	rights := []string{loadTools[client%5], loadTools[(client+1)%5]}
	if !s.roles {
		rights = loadTools
	}
	rights = slices.Clone(rights)
	slices.Sort(rights)
	return rights
}

func serveLoad(t *testing.T, roles bool) *loaded {
	t.Helper()
	dir, env := newDir(t, map[string]string{"project/file.txt": "content"}), environment(t)
	config, project := filepath.Join(dir, "bulkhead.toml"), filepath.Join(dir, "project")
	text := "[http]\ntokens = true\n"
	if roles {
		for i := range 5 {
			text += fmt.Sprintf("[[clients]]\nname = 'role%[1]d'\nmatch = { tokens = ['r%[1]d-*'] }\nallow_tools = [%[2]q, %[3]q]\n", i, loadTools[i], loadTools[(i+1)%5])
		}
	}
	names, _ := json.Marshal(loadTools)
	putFile(t, config, text+fmt.Sprintf("[[plugins]]\npath = %q\nallow_tools = %s\nfs = [{ path = '${project}', access = 'rw' }]\n[[plugins]]\npath = %q\n",
		filepath.Join(built.plugins(t), "filesystem"), names, filepath.Join(built.plugins(t), "hello")))
	s := &loaded{t: t, roles: roles, workers: map[int]bool{}}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(built.program(t), append(args, "--config", config)...)
		cmd.Dir, cmd.Env = project, env
		return cmd
	}
	for i := range 20 {
		if i > 0 && !roles {
			s.tokens = append(s.tokens, s.tokens[0])
			continue
		}
		out, err := command("token", "new", fmt.Sprintf("r%d-%d", i%5, i)).Output()
		if err != nil {
			t.Fatal(err)
		}
		s.tokens = append(s.tokens, strings.TrimSpace(string(out)))
	}
	s.server = startServer(t, command("serve", "--project", project, "--http", "127.0.0.1:0"))
	s.url = httpURL(t, s.server)
	return s
}

// round has each client make calls, some of them of tools that it may not call, and list its tools. Each answer must be that of its rights.
func (s *loaded) round(client *http.Client, calls int) {
	var all sync.WaitGroup
	for i, token := range s.tokens {
		rights := s.rights(i)
		all.Go(func() {
			for n := range calls {
				tool, allowed := loadTools[(i+n%2)%5], true
				if n%10 == 9 {
					tool, allowed = "absent", false
					if s.roles {
						tool = loadTools[(i+2+n%3)%5]
					}
				}
				r := startCall(s.t, client, s.url, tool, loadArguments[tool], "Bearer "+token)
				body, err := io.ReadAll(r.Body)
				if r.Body.Close(); err != nil {
					s.t.Error(err)
				}
				if got := bytes.Contains(body, []byte(`"result"`)) && !bytes.Contains(body, []byte(`"isError":true`)); got != allowed || !allowed && !bytes.Contains(body, []byte("nknown tool")) {
					s.t.Errorf("client %d calls %s, of %v: %s", i, tool, rights, body)
				}
			}
			_, body := postHTTP(s.t, s.url, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
				"Authorization", "Bearer "+token, "MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/list")
			for _, tool := range loadTools {
				if listed := strings.Contains(body, `"name":"`+tool+`"`); listed != slices.Contains(rights, tool) {
					s.t.Errorf("client %d, with a right to %v: %s is listed: %t", i, rights, tool, listed)
				}
			}
		})
	}
	all.Wait()
	for _, pid := range s.server.workers() {
		s.workers[pid] = true
	}
}

// ticks returns the processor time of the server and of its workers, also of those that have ended.
func (s *server) ticks() (sum int) {
	of := func(pid, fields int) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return // the worker has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		for _, field := range strings.Fields(rest)[11 : 11+fields] { // utime, stime, and those of ended children
			n, err := strconv.Atoi(field)
			if err != nil {
				s.t.Fatal(err)
			}
			sum += n
		}
	}
	of(s.cmd.Process.Pid, 4)
	for _, pid := range s.workers() {
		of(pid, 2)
	}
	return sum
}

// TestTwentyClientsCostAsMuchAsOne has twenty clients with five roles call one server, and one client make the same calls to another, in turns.
//
//	go test ./tests -run TwentyClients -load 5m -timeout 30m -v
func TestTwentyClientsCostAsMuchAsOne(t *testing.T) {
	if *loadTime == 0 {
		t.Skip("NOT TESTED without -load: it measures processor time on an otherwise idle machine (`just load`)")
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 20}}
	both := []*loaded{serveLoad(t, true), serveLoad(t, false)}
	for _, s := range both {
		s.round(client, 10) // starts the worker
		s.before = s.ticks()
	}
	const calls = 50
	rounds := 0
	for began := time.Now(); time.Since(began) < *loadTime && !t.Failed(); rounds++ {
		for i := range both {
			both[(i+rounds)%2].round(client, calls)
		}
	}
	twenty, one := both[0].ticks()-both[0].before, both[1].ticks()-both[1].before
	cost, started := float64(twenty)/float64(max(one, 1)), float64(len(both[0].workers))/float64(max(len(both[1].workers), 1))
	t.Logf("%d calls of each: twenty clients with five roles use %.2f of the processor time of one (%d and %d ticks), and %.2f of its workers (%d and %d)",
		rounds*calls*20, cost, twenty, one, started, len(both[0].workers), len(both[1].workers))
	if cost > mostCost || started > mostCost {
		t.Errorf("the ratios may be at most %.2f", mostCost)
	}
}
