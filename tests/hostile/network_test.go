//go:build unix

package hostile

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// TestOnlyGrantedOriginsAreRequested requests other spellings of granted origins, redirects to other origins, and origins that
// are not granted.
func TestOnlyGrantedOriginsAreRequested(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	_, otherPort, _ := net.SplitHostPort(other.Listener.Addr().String())
	stop := make(chan struct{})
	granted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fine":
			fmt.Fprint(w, "fine")
		case "/silent":
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		default:
			http.Redirect(w, r, strings.TrimPrefix(r.URL.Path, "/to/"), http.StatusFound)
		}
	}))
	defer granted.Close()
	defer close(stop)
	port := granted.Listener.Addr().(*net.TCPAddr).Port

	w := newWorkspace(t)
	// localhost is granted without private = true, so its address is denied.
	w.addIntruder(fmt.Sprintf("limits = { time = \"5s\" }\ngit = []\nhttp = [{ origin = %q, private = true }, \"http://localhost:%s\", \"http://169.254.169.254\", \"https://metadata.google.internal\"]\n", granted.URL, otherPort))
	s := w.serve()
	get := func(url string) action {
		return action{Do: "ask", Op: "http/fetch", Params: map[string]any{"url": url}}
	}
	const denied, invalid = `.*\(denied\)`, `.*\(invalid\)`
	all := []intrusion{
		{"a granted origin", get(granted.URL + "/fine"), "", `.*"status":200.*`},
		{"another port", get(other.URL + "/"), "", denied},
		{"another scheme", get(fmt.Sprintf("https://127.0.0.1:%d/", port)), "", denied},
		{"another host", get("http://example.com/"), "", denied},
		{"a granted origin as user info", get(fmt.Sprintf("http://127.0.0.1:%d@127.0.0.1:%s/", port, otherPort)), "", invalid},
		{"a decimal address", get("http://2130706433:" + otherPort + "/"), "", invalid},
		{"an octal address", get("http://0177.0.0.1:" + otherPort + "/"), "", invalid},
		{"an IPv4-mapped address", get("http://[::ffff:127.0.0.1]:" + otherPort + "/"), "", invalid},
		{"localhost", get("http://localhost:" + otherPort + "/"), "", denied},
		{"localhost with a trailing dot", get("http://localhost.:" + otherPort + "/"), "", invalid},
		{"the metadata address", get("http://169.254.169.254/latest/meta-data/"), "", denied},
		{"a file URL", get("file:///etc/passwd"), "", invalid},
		{"a redirect to another port", get(granted.URL + "/to/" + other.URL), "", denied},
		{"a redirect to localhost", get(granted.URL + "/to/http://localhost:" + otherPort), "", denied},
		{"a redirect to metadata", get(granted.URL + "/to/http://169.254.169.254/"), "", denied},
		{"a redirect to a file URL", get(granted.URL + "/to/file:///etc/passwd"), "", denied},
		{"a redirect to itself", get(granted.URL + "/to//to/"), "", `.*\(failed\)`},
		{"a header that splits the request", action{Do: "ask", Op: "http/fetch", Params: map[string]any{"url": granted.URL + "/fine", "headers": map[string][]string{"X": {"a\r\nHost: b"}}}}, "", invalid},
		{"a Host header", action{Do: "ask", Op: "http/fetch", Params: map[string]any{"url": granted.URL + "/fine", "headers": map[string][]string{"Host": {"b"}}}}, "", invalid},
		{"the method CONNECT", action{Do: "ask", Op: "http/fetch", Params: map[string]any{"url": granted.URL + "/fine", "method": "CONNECT"}}, "", invalid},
		{"a server that never answers", get(granted.URL + "/silent"), "timeout", ".*time limit of 5s"},
		{"a git server that is not granted", action{Do: "ask", Op: "git/list_remote", Params: map[string]any{"url": "https://git.example.com/a/b"}}, "", denied},
		{"an unknown operation", action{Do: "ask", Op: "process/run", Params: map[string]any{"command": "sh"}}, "", `.*\(unavailable\)`},
	}
	w.intrude(t, s, all)
	s.end()
	w.checkRecords(all)
	if n := reached.Load(); n > 0 {
		t.Errorf("a server that was not granted got %d requests", n)
	}
	refused := 0
	for _, r := range w.records() {
		if r.Kind == "refused" && r.Plugin == "intruder" {
			refused++
			if len(r.Operations) != 1 || r.Operations[0].Outcome != "denied" {
				t.Errorf("record of a refusal: %+v", r)
			}
		}
	}
	if refused < 8 {
		t.Errorf("the audit log has %d refusals, want at least 8", refused)
	}
}

// TestPublicWebGrantReachesNoOtherNetwork requests what the public web does not include, and redirects to it from a granted server.
func TestPublicWebGrantReachesNoOtherNetwork(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	granted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.TrimPrefix(r.URL.Path, "/to/"), http.StatusFound)
	}))
	defer granted.Close()
	w := newWorkspace(t)
	w.addIntruder(fmt.Sprintf("git = []\nhttp = [\"public-web\", { origin = %q, private = true }]\n", granted.URL))
	s := w.serve()
	const denied, invalid = `.*\(denied\)`, `.*\(invalid\)`
	var all []intrusion
	for url, want := range map[string]string{
		other.URL + "/": denied, "http://127.0.0.1/": denied, "http://localhost/": denied, "https://localhost/": denied, "http://[::1]/": denied,
		"http://10.0.0.1/": denied, "http://169.254.169.254/latest/meta-data/": denied, "http://100.64.0.1/": denied, "http://0.0.0.0/": denied,
		"http://[64:ff9b::7f00:1]/": denied, "http://[2002:7f00:1::1]/": denied, "http://[::ffff:127.0.0.1]/": invalid, "http://2130706433/": invalid,
		"http://0177.0.0.1/": invalid, "http://0x7f.1/": invalid, "http://localhost./": invalid, "http://me@localhost/": invalid, "http://example.com:8080/": denied,
		"ftp://example.com/": invalid, granted.URL + "/to/http://localhost/": denied, granted.URL + "/to/" + other.URL: denied,
	} {
		all = append(all, intrusion{url, action{Do: "ask", Op: "http/fetch", Params: map[string]any{"url": url}}, "", want})
	}
	w.intrude(t, s, all)
	s.end()
	w.checkRecords(all)
	if n := reached.Load(); n > 0 {
		t.Errorf("a server that was not granted got %d requests", n)
	}
}

// TestRepositoryRunsNoProgram covers configuration and hooks of a repository, and arguments that git would interpret.
func TestRepositoryRunsNoProgram(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	pwned := w.path("pwned")
	script := "#!/bin/sh\ntouch " + pwned + "\n"
	for _, dir := range []string{"work", "outside"} {
		w.writeFile(dir+"/.git/HEAD", "ref: refs/heads/main\n")
		w.writeFile(dir+"/.git/refs/heads/.keep", "")
		w.writeFile(dir+"/.git/objects/.keep", "")
		w.writeFile(dir+"/.git/config", "[core]\n\tfsmonitor = touch "+pwned+"\n\thooksPath = hooks\n\tsshCommand = touch "+pwned+"\n[user]\n\tname = A\n\temail = a@example.com\n[alias]\n\tstatus = !touch "+pwned+"\n")
		for _, hook := range []string{"pre-commit", "post-commit", "reference-transaction", "post-checkout"} {
			w.writeFile(dir+"/.git/hooks/"+hook, script)
		}
	}
	w.writeFile("outside/.git/description", secret)
	w.writeFile("work/planted/.git", "gitdir: ../../outside/.git\n")
	w.writeFile("work/absolute/.git", "gitdir: "+w.path("outside/.git")+"\n")
	w.symlink("work/linked/.git", w.path("outside/.git"))
	check := w.unchanged(t, "outside")
	w.addIntruder("http = []\ngit = [{ repo = \"${project}\", access = \"commit\", remotes = [\"https://git.example.com/a\"] }]\n")
	s := w.serve()
	git := func(op, repo string, more ...string) action {
		params := map[string]any{"repo": repo}
		for i := 0; i < len(more); i += 2 {
			params[more[i]] = more[i+1]
		}
		return action{Do: "ask", Op: "git/" + op, Params: params}
	}
	remote := func(url string) action {
		return action{Do: "ask", Op: "git/list_remote", Params: map[string]any{"url": url}}
	}
	const denied, invalid, hook = `.*\(denied\)`, `.*\(invalid\)`, `.*core\.hooksPath is "hooks".*\(failed\)`
	commit := strings.Repeat("1", 40)
	all := []intrusion{
		{"a commit past hooks", git("commit", w.project, "message", "x"), "", hook},
		{"a branch past hooks", git("create_branch", w.project, "branch", "x", "commit", commit), "", hook},
		{"a reset past hooks", git("reset", w.project), "", hook},
		{"files past hooks", action{Do: "ask", Op: "git/add", Params: map[string]any{"repo": w.project, "paths": []any{"."}}}, "", hook},
		{"a commit outside", git("commit", w.path("outside"), "message", "x"), "", denied},
		{"a reset by a planted .git file", git("reset", w.path("work/planted")), "", denied},
		{"a branch by a planted link", git("create_branch", w.path("work/linked"), "branch", "x", "commit", commit), "", denied},
		{"a branch in the place of a hook", git("create_branch", w.project, "branch", "../../hooks/pre-commit", "commit", commit), "", invalid},
		{"a branch at what is no hash", git("create_branch", w.project, "branch", "x", "commit", "--upload-pack=sh"), "", invalid},
		{"the project's repository", git("current_branch", w.project), "", `.*"branch":"main".*`},
		{"the status of the project", git("status", w.project), "", `.*"found":true.*`},
		{"a repository outside", git("current_branch", w.path("outside")), "", denied},
		{"a repository outside by dot-dot", git("current_branch", w.project+"/../outside"), "", denied},
		{"a planted .git file", git("current_branch", w.path("work/planted")), "", denied},
		{"a planted .git file with an absolute path", git("current_branch", w.path("work/absolute")), "", denied},
		{"a planted link", git("current_branch", w.path("work/linked")), "", denied},
		{"a reference like a flag", git("resolve_ref", w.project, "ref", "--upload-pack=touch "+pwned), "", invalid},
		{"a revision expression as reference", git("resolve_ref", w.project, "ref", "HEAD^{/x}"), "", invalid},
		{"a branch like a flag", git("branch_exists", w.project, "branch", "--exec=sh"), "", invalid},
		{"a branch with dot-dot", git("branch_exists", w.project, "branch", "../../config"), "", invalid},
		{"a file path with dot-dot", git("read_file", w.project, "branch", "main", "path", "../outside/.git/description"), "", invalid},
		{"a configured remote like a flag", git("remote_url", w.project, "remote", "--upload-pack=sh"), "", invalid},
		{"a new branch like a flag", action{Do: "ask", Op: "git/commit_branch", Params: map[string]any{"repo": w.project, "branch": "--force", "message": "m", "changes": []any{map[string]any{"path": "a", "content": "eA=="}}}}, "", invalid},
		{"a commit into .git", action{Do: "ask", Op: "git/commit_branch", Params: map[string]any{"repo": w.project, "branch": "new", "message": "m", "changes": []any{map[string]any{"path": "sub/.git/hooks/post-checkout", "content": "eA=="}}}}, "", invalid},
		{"a remote that runs a program", remote("ext::sh -c touch% " + pwned), "", invalid},
		{"a remote that is a directory", remote("file://" + w.path("outside")), "", invalid},
		{"a remote by ssh", remote("ssh://-oProxyCommand=touch/x"), "", invalid},
		{"a remote URL like a flag", remote("--upload-pack=sh"), "", invalid},
		{"a remote with a granted path as prefix", remote("https://git.example.com/ab"), "", denied},
	}
	w.intrude(t, s, all)
	s.end()
	check()
	w.checkRecords(all)
	if _, err := os.Lstat(pwned); err == nil {
		t.Error("a program of the repository ran")
	}
}
