//go:build unix

package tests

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shared is a project that servers over HTTP with one state directory want to write.
type shared struct {
	t               *testing.T
	plugin, project string
	env             []string
	configs         int
}

func newShared(t *testing.T) *shared {
	return &shared{t: t, plugin: filepath.Join(copyPlugins(t, "filesystem"), "filesystem"), project: newDir(t, nil), env: environment(t)}
}

// http returns the command of a server with a config of its own that grants a project.
func (s *shared) http(project, access, extra string) *exec.Cmd {
	s.t.Helper()
	s.configs++
	config := filepath.Join(newDir(s.t, nil), fmt.Sprintf("server-%d.toml", s.configs))
	putFile(s.t, config, fmt.Sprintf("[[plugins]]\npath = %q\nfs = [{ path = \"${project}\", access = %q }]\n%s", s.plugin, access, extra))
	cmd := programCommand(s.t, "serve", "--config", config, "--project", project, "--http", "127.0.0.1:0")
	cmd.Env = s.env
	return cmd
}

// write returns the arguments of write_file.
func (s *shared) write(name string) string {
	return jsonOf(s.t, map[string]any{"path": filepath.Join(s.project, name), "content": "text"})
}

// refused runs a server that must not start, and returns what it prints.
func (s *shared) refused(cmd *exec.Cmd) string {
	s.t.Helper()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	err := cmd.Wait()
	if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(out.String(), "another server writes") || !strings.Contains(out.String(), "remedy") {
		s.t.Errorf("a second server: %v: %s", err, &out)
	}
	return out.String()
}

// TestProjectHasOneServer has servers over HTTP that write the same project, by several paths, and others beside them that do not.
func TestProjectHasOneServer(t *testing.T) {
	t.Parallel()
	u := newShared(t)
	first := startServer(t, u.http(u.project, "rw", ""))
	url := httpURL(t, first)
	if status, body := modernCall(t, url, "write_file", u.write("a")); status != 200 || strings.Contains(body, "isError\":true") {
		t.Fatalf("%d %s", status, body)
	}

	if workers := first.workers(); len(workers) != 1 || len(locksOf(t, workers[0])) != 1 {
		t.Errorf("the workers %v have not inherited the lock, which must last as long as they may write", workers)
	}

	out := u.refused(u.http(u.project, "rw", ""))
	for _, want := range []string{fmt.Sprintf("process %d on ", first.cmd.Process.Pid), "server-1.toml", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"), u.project} {
		if !strings.Contains(out, want) {
			t.Errorf("the refusal does not name %q: %s", want, out)
		}
	}
	link := filepath.Join(newDir(t, nil), "link")
	if err := os.Symlink(u.project, link); err != nil {
		t.Fatal(err)
	}
	u.refused(u.http(link, "rw", ""))
	u.refused(u.http(newDir(t, nil), "rw", fmt.Sprintf("[[projects]]\nname = \"a\"\npath = %q\n", u.project)))
	if err := os.Mkdir(filepath.Join(u.project, "part"), 0o700); err != nil {
		t.Fatal(err)
	}
	u.refused(u.http(filepath.Join(u.project, "part"), "rw", ""))

	signal(t, first.cmd, syscall.SIGSTOP)
	u.refused(u.http(u.project, "rw", ""))
	signal(t, first.cmd, syscall.SIGCONT)

	reader := startServer(t, u.http(u.project, "r", ""))
	if status, body := modernCall(t, httpURL(t, reader), "read_text_file", jsonOf(t, map[string]any{"path": filepath.Join(u.project, "a")})); status != 200 || !strings.Contains(body, `"text"`) {
		t.Errorf("a server that may only read: %d %s", status, body)
	}
	httpURL(t, startServer(t, u.http(newDir(t, nil), "rw", "")))
	stdio := u.http(u.project, "rw", "") // what a client starts for itself
	stdio.Args = stdio.Args[:len(stdio.Args)-2]
	startServer(t, stdio).mustCall("write_file", u.write("b"))

	signal(t, first.cmd, syscall.SIGTERM)
	if code, _ := first.exit(); code != 0 {
		t.Errorf("the first server ended with %d", code)
	}
	next := startServer(t, u.http(u.project, "rw", ""))
	httpURL(t, next)
	next.kill()
	httpURL(t, startServer(t, u.http(u.project, "rw", "")))
}

// TestStateHasOneServer has servers for two projects whose plugin asks for its state directory, which both would write.
func TestStateHasOneServer(t *testing.T) {
	t.Parallel()
	plugin, env := filepath.Join(copyPlugins(t, "memory"), "memory"), environment(t)
	serve := func(extra string, more ...string) *exec.Cmd {
		config := filepath.Join(newDir(t, nil), "bulkhead.toml")
		putFile(t, config, fmt.Sprintf("[[plugins]]\npath = %q\n%s", plugin, extra))
		cmd := programCommand(t, "serve", "--config", config, "--project", newDir(t, nil), "--http", "127.0.0.1:0")
		cmd.Env = slices.Concat(env, more)
		return cmd
	}
	u := &shared{t: t}
	first := startServer(t, serve(""))
	url := httpURL(t, first)
	if status, body := modernCall(t, url, "create_entities", `{"entities":[{"name":"a","entityType":"b","observations":[]}]}`); status != 200 || strings.Contains(body, "isError\":true") {
		t.Fatalf("%d %s", status, body)
	}
	if out := u.refused(serve("")); !strings.Contains(out, fmt.Sprintf("process %d on ", first.cmd.Process.Pid)) || !strings.Contains(out, "bulkhead/memory:") {
		t.Errorf("the refusal names neither the first server nor the state: %s", out)
	}
	project := fmt.Sprintf("[[projects]]\nname = \"a\"\npath = %q\nstate = %q\n", newDir(t, nil), filepath.Join(newDir(t, nil), "state"))
	u.refused(serve(project)) // its own project has the shared state

	other := startServer(t, serve(project, "XDG_STATE_HOME="+newDir(t, nil)))
	if status, body := modernCall(t, httpURL(t, other), "read_graph", "{}"); status != 200 || strings.Contains(body, `entityType`) {
		t.Errorf("a server with another state directory: %d %s", status, body)
	}
	u.refused(serve(project, "XDG_STATE_HOME="+newDir(t, nil))) // two servers have one project with one state directory

	reader := startServer(t, serve("read_only = true\n"))
	if status, body := modernCall(t, httpURL(t, reader), "read_graph", "{}"); status != 200 || !strings.Contains(body, `entityType`) {
		t.Errorf("a server that may only read: %d %s", status, body)
	}
	stdio := serve("")
	stdio.Args = stdio.Args[:len(stdio.Args)-2]
	startServer(t, stdio).mustCall("read_graph", "{}")
	first.kill()
	httpURL(t, startServer(t, serve("")))
}

// TestStateIsNotInProjectOfOtherServer has servers of which one would have the state of the other one's project in its own project, by which its plugin
// could overwrite it.
func TestStateIsNotInProjectOfOtherServer(t *testing.T) {
	t.Parallel()
	u, volume := newShared(t), newDir(t, nil)
	plugin := filepath.Join(copyPlugins(t, "memory"), "memory")
	keeps := func() *exec.Cmd {
		config := filepath.Join(newDir(t, nil), "bulkhead.toml")
		putFile(t, config, fmt.Sprintf("[[plugins]]\npath = %q\n[[projects]]\nname = \"a\"\npath = %q\nstate = %q\n", plugin, newDir(t, nil), filepath.Join(volume, "state")))
		cmd := programCommand(t, "serve", "--config", config, "--project", newDir(t, nil), "--http", "127.0.0.1:0")
		cmd.Env = append(slices.Clone(u.env), "XDG_STATE_HOME="+newDir(t, nil))
		return cmd
	}
	first := startServer(t, keeps())
	httpURL(t, first)
	u.refused(u.http(volume, "rw", ""))
	u.refused(u.http(newDir(t, nil), "rw", fmt.Sprintf("[[projects]]\nname = \"a\"\npath = %q\n", volume)))
	httpURL(t, startServer(t, u.http(volume, "r", "")))
	first.kill()
	httpURL(t, startServer(t, u.http(volume, "rw", "")))
	u.refused(keeps())
}

// TestGrantByLinkIsOfTheProject has servers that are granted their project by symbolic links, whose target both claim for themselves.
func TestGrantByLinkIsOfTheProject(t *testing.T) {
	t.Parallel()
	u := newShared(t)
	links := newDir(t, nil)
	granted := func(target, below string) *exec.Cmd {
		u.configs++
		link := filepath.Join(links, fmt.Sprint(u.configs))
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		config := filepath.Join(newDir(t, nil), fmt.Sprintf("server-%d.toml", u.configs))
		putFile(t, config, fmt.Sprintf("[[plugins]]\npath = %q\nfs = [{ path = %q, access = \"rw\" }]\n", u.plugin, filepath.Join(link, below)))
		cmd := programCommand(t, "serve", "--config", config, "--project", u.project, "--http", "127.0.0.1:0")
		cmd.Env = u.env
		return cmd
	}
	httpURL(t, startServer(t, granted(u.project, "")))
	u.refused(granted(u.project, ""))
	u.refused(granted(u.project, "none"))           // a directory in it that does not exist yet
	u.refused(granted(filepath.Dir(u.project), "")) // one that contains it
}

// locksOf returns the locks of servers that a process has open.
func locksOf(t *testing.T, pid int) []string {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	var locks []string
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.Contains(to, "/.servers/") {
			locks = append(locks, to)
		}
	}
	return locks
}

// A running server whose reloaded config wants to write what another one writes stays as it is.
func TestReloadClaimsProjects(t *testing.T) {
	t.Parallel()
	u := newShared(t)
	first := startServer(t, u.http(u.project, "rw", ""))
	httpURL(t, first)
	cmd := u.http(u.project, "r", "")
	second := startServer(t, cmd)
	url := httpURL(t, second)
	config := cmd.Args[3]
	putFile(t, config, strings.Replace(readFile(t, config), `"r"`, `"rw"`, 1))
	waitFor(t, "the refusal", func() bool {
		return strings.Contains(second.log.String(), "a change of the configuration is rejected") && strings.Contains(second.log.String(), fmt.Sprintf("process %d", first.cmd.Process.Pid))
	})
	first.kill()
	signal(t, second.cmd, syscall.SIGHUP)
	waitFor(t, "the write", func() bool {
		_, body := modernCall(t, url, "write_file", u.write("a"))
		return !strings.Contains(body, "isError\":true")
	})
	u.refused(u.http(u.project, "rw", ""))
}

// A reload that changes nothing claims the new directory of a project that was replaced, which servers with other state directories then notice.
func TestReloadClaimsReplacedProject(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("servers with different state directories notice each other on Linux only")
	}
	u := newShared(t)
	first := startServer(t, u.http(u.project, "rw", ""))
	httpURL(t, first)
	if err := errors.Join(os.Rename(u.project, u.project+"-old"), os.Mkdir(u.project, 0o700)); err != nil {
		t.Fatal(err)
	}
	signal(t, first.cmd, syscall.SIGHUP)
	waitFor(t, "the reload", func() bool {
		return strings.Contains(first.log.String(), "the configuration was read again, and has not changed")
	})
	u.env = append(slices.Clone(u.env), "XDG_STATE_HOME="+newDir(t, nil))
	u.refused(u.http(u.project, "rw", ""))
}

// TestTakeoverRecoversFirst kills a server in a transaction that has written the database. The server that takes the project over is
// refused until no worker of the first one is left, and its first call, which only reads, finds the transaction rolled back.
func TestTakeoverRecoversFirst(t *testing.T) {
	t.Parallel()
	u := newSqliteUser(t)
	serve := func() (*server, string) {
		cmd := u.command("rw", "")
		cmd.Args = append(cmd.Args, "--http", "127.0.0.1:0")
		s := startServer(t, cmd)
		return s, httpURL(t, s)
	}
	stdio := u.serve("rw", "")
	u.createTree(stdio)
	stdio.end()
	path := filepath.Join(u.project, "a.db")
	size := int64(len(readFile(t, path)))
	first, url := serve()
	request := callRequest(t, url, "sqlite_execute", statement(t, grow), "")
	go func() {
		if answer, err := http.DefaultClient.Do(request); err == nil { // the answer does not come
			answer.Body.Close()
		}
	}()
	waitFor(t, "the write", func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() > size
	})
	first.kill()
	_, url = serve()
	status, body := modernCall(t, url, "sqlite_query", statement(t, "select count(*), sum(value), (select group_concat(integrity_check) from pragma_integrity_check) from tree"))
	if status != 200 || !strings.Contains(body, `[[200,0,\"ok\"]]`) {
		t.Errorf("the first call after the takeover: %d %s", status, body)
	}
}

// waitFor waits until done.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not happen", what)
		}
	}
}
