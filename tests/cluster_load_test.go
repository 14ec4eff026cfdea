//go:build unix

package tests

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var clusterTime = flag.Duration("cluster", 0, "how long the test of a cluster under load takes; 0: it does not run")

// TestClusterUnderLoad has official client libraries and a client of its own call two stateless replicas and two shards through HAProxy, while servers are
// killed, stopped, and replaced by another version of the program, and a project is moved to the other shard and back. Each acknowledged write is there
// once, no other one twice, and clients get retryable errors only.
//
//	go test ./tests -run ClusterUnderLoad -cluster 10m -timeout 30m -v
func TestClusterUnderLoad(t *testing.T) {
	if *clusterTime == 0 {
		t.Skip("NOT TESTED without -cluster: it takes minutes of an otherwise idle machine (`just cluster`)")
	}
	c := startCluster(t)
	base, transport, reload := shardsProxy(t, [2]string{c.replicas[0].address, c.replicas[1].address}, [2]string{c.shards[0].address, c.shards[1].address}).start(t)
	c.addClients(base, &http.Client{Transport: transport})
	stop := make(chan struct{})
	var running sync.WaitGroup
	for _, client := range c.clients {
		running.Go(func() { client.run(stop) })
	}
	for _, endpoint := range clusterEndpoints {
		c.await(endpoint, time.Now()) // each client has begun
		c.event("nothing, for 3 s", endpoint, func() { time.Sleep(3 * time.Second) })
	}
	began, site := time.Now(), 0
	for round, moves := 0, 0; (time.Since(began) < *clusterTime || moves < 2) && !t.Failed(); round++ {
		n := round % 2
		c.disturb("a replica", "/mcp", c.replicas[n])
		if n == 0 {
			c.disturb("the shard", "/mcp/site", c.shards[site])
		} else {
			c.disturb("the shard", "/mcp/wiki", c.shards[1])
		}
		if moves < 2 && time.Since(began) > *clusterTime*time.Duration(moves+1)/3 {
			from, to := c.shards[site], c.shards[1-site]
			site = 1 - site
			moves++
			c.event("the project moves to the other shard", "/mcp/site", func() { from.move(t, "site", to, func() { reload(siteRoutes[site]...) }) })
		}
	}
	close(stop)
	running.Wait()
	c.report(time.Since(began))
	if !t.Failed() {
		c.check()
	}
}

// cluster is two replicas and two shards, and what their clients did.
type cluster struct {
	*clusterLoad
	root             string
	replicas, shards []*shard
	versions         []string // two builds of the program
}

// event has something happen, unless the test has failed.
func (c *cluster) event(what, endpoint string, act func()) {
	c.t.Helper()
	if !c.t.Failed() {
		c.measure(what, endpoint, act)
	}
}

// disturb has a server end or pause in each way.
func (c *cluster) disturb(what, endpoint string, s *shard) {
	c.t.Helper()
	c.event(what+" is killed, and starts again", endpoint, func() {
		s.kill()
		s.serve(c.t)
	})
	c.event(what+" is stopped for 3 s, and continued", endpoint, func() {
		signal(c.t, s.cmd, syscall.SIGSTOP)
		time.Sleep(3 * time.Second)
		signal(c.t, s.cmd, syscall.SIGCONT)
	})
	c.event(what+" drains, the other version starts", endpoint, func() {
		s.drain(c.t)
		s.program = c.versions[1-slices.Index(c.versions, s.program)]
		s.serve(c.t)
	})
}

// check compares the files of the projects with the histories of the clients.
func (c *cluster) check() {
	c.t.Helper()
	acknowledged := 0
	for _, client := range c.clients {
		if client.endpoint != "/mcp" {
			acknowledged += client.history.check(c.t, c.files(client.endpoint))
		}
	}
	if share := float64(c.writes) / float64(c.calls); share < 0.05 || share > 0.2 || acknowledged != c.acknowledged {
		c.t.Errorf("%d of %d calls were writes, %d acknowledged (%d by the histories)", c.writes, c.calls, c.acknowledged, acknowledged)
	}
}

var clusterEndpoints = []string{"/mcp", "/mcp/site", "/mcp/wiki"}

// files is the directory of a project, at the shard that has it first and last.
func (c *cluster) files(endpoint string) string {
	return filepath.Join(c.root, map[string]string{"/mcp/site": "a/site", "/mcp/wiki": "b/wiki"}[endpoint], "files")
}

// startCluster starts the servers, with the program under test.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{root: newDir(t, nil), versions: []string{built.program(t), filepath.Join(t.TempDir(), "bulkhead")}}
	c.clusterLoad = &clusterLoad{t: t, errors: map[string]int{}, gaps: map[string]time.Duration{}, events: map[string][]time.Duration{}}
	if out, err := exec.Command("go", "build", "-ldflags", "-X main.releaseVersion=v9.9.9", "-o", c.versions[1], "../cmd/bulkhead").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command(c.versions[1], "version").Output(); err != nil || !strings.Contains(string(out), "v9.9.9") {
		t.Fatalf("the other version: %v, %s", err, out)
	}
	token, keys := secretFile(t, podToken), secretFile(t, aKey+"\n")
	add := func(servers *[]*shard, volumes, http string, plugins ...string) {
		if err := os.MkdirAll(filepath.Join(c.root, volumes), 0o755); err != nil {
			t.Fatal(err)
		}
		dir, _, _ := strings.Cut(volumes, "/")
		s := &shard{address: freeAddress(t), dir: filepath.Join(c.root, dir), token: token, plugins: plugins, http: http, program: c.versions[0]}
		s.serve(t)
		*servers = append(*servers, s)
	}
	for _, dir := range []string{"replica-1", "replica-2"} {
		add(&c.replicas, dir, fmt.Sprintf("state_keys = %q\n", keys), filepath.Join(built.plugins(t), "time"), filepath.Join(builtPlugins(t, "../examples/ask"), "ask"))
	}
	for _, dir := range []string{"a/site/files", "b/wiki/files"} {
		add(&c.shards, dir, "", filepath.Join(built.plugins(t), "filesystem"))
	}
	return c
}

// addClients starts client libraries of both eras, and two clients without one, for each endpoint.
func (c *cluster) addClients(base string, direct *http.Client) {
	c.t.Helper()
	add := func(name, endpoint string, send func(tool, arguments string) string) {
		client := &clusterClient{name: name, endpoint: endpoint, send: send, load: c.clusterLoad, answered: time.Now()}
		if endpoint != "/mcp" {
			client.history.file = fmt.Sprintf("client-%d", len(c.clients))
			putFile(c.t, filepath.Join(c.files(endpoint), client.history.file), "the end\n")
		}
		c.clients = append(c.clients, client)
	}
	local := strings.Replace(base, "mcp.example.com", "127.0.0.1", 1)
	for _, endpoint := range clusterEndpoints {
		for _, l := range libraries {
			for _, version := range map[string][]string{"typescript-1": {"2025-11-25"}, "typescript-2": {modernVersion}, "python-2": {"2025-11-25", modernVersion}}[l.name] {
				add(l.name+" "+version, endpoint, libraryCall(c.t, l, version, local+endpoint))
			}
		}
		add("none "+modernVersion, endpoint, directCall(c.t, direct, base+endpoint))
		if endpoint == "/mcp" {
			add("none "+modernVersion+", questions", endpoint, askCall(c.t, direct, base+endpoint))
		} else {
			add("none "+modernVersion, endpoint, directCall(c.t, direct, base+endpoint))
		}
	}
}
