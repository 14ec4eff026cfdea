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

// TestOnlyGrantedOriginsAreRequested, by whatever spelling, redirect or name.
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
	// The name was granted and its address was not: what it stands for is another matter from its name.
	w.addIntruder(fmt.Sprintf("limits = { time = \"5s\" }\ngit = []\nhttp = [{ origin = %q, private = true }, \"http://localhost:%s\", \"http://169.254.169.254\", \"https://metadata.google.internal\"]\n", granted.URL, otherPort))
	s := w.serve()
	asking := func(url string) action {
		return action{Do: "ask", Op: "http/fetch", Params: map[string]any{"url": url}}
	}
	const denied, invalid = `.*\(denied\)`, `.*\(invalid\)`
	all := []intrusion{
		{"a granted origin", asking(granted.URL + "/fine"), "", `.*"status":200.*`},
		{"another port", asking(other.URL + "/"), "", denied},
		{"another scheme", asking(fmt.Sprintf("https://127.0.0.1:%d/", port)), "", denied},
		{"another host", asking("http://example.com/"), "", denied},
		{"a granted one as the user", asking(fmt.Sprintf("http://127.0.0.1:%d@127.0.0.1:%s/", port, otherPort)), "", invalid},
		{"a number for an address", asking("http://2130706433:" + otherPort + "/"), "", invalid},
		{"an octal address", asking("http://0177.0.0.1:" + otherPort + "/"), "", invalid},
		{"an address in another form", asking("http://[::ffff:127.0.0.1]:" + otherPort + "/"), "", invalid},
		{"a name that stands for this machine", asking("http://localhost:" + otherPort + "/"), "", denied},
		{"the same with a dot", asking("http://localhost.:" + otherPort + "/"), "", invalid},
		{"the address of metadata", asking("http://169.254.169.254/latest/meta-data/"), "", denied},
		{"a file", asking("file:///etc/passwd"), "", invalid},
		{"a redirect to another port", asking(granted.URL + "/to/" + other.URL), "", denied},
		{"a redirect to a name that stands for this machine", asking(granted.URL + "/to/http://localhost:" + otherPort), "", denied},
		{"a redirect to metadata", asking(granted.URL + "/to/http://169.254.169.254/"), "", denied},
		{"a redirect to a file", asking(granted.URL + "/to/file:///etc/passwd"), "", denied},
		{"a redirect to itself", asking(granted.URL + "/to//to/"), "", `.*\(failed\)`},
		{"a header that splits the request", action{Do: "ask", Op: "http/fetch", Params: map[string]any{"url": granted.URL + "/fine", "headers": map[string][]string{"X": {"a\r\nHost: b"}}}}, "", invalid},
		{"the header of a host", action{Do: "ask", Op: "http/fetch", Params: map[string]any{"url": granted.URL + "/fine", "headers": map[string][]string{"Host": {"b"}}}}, "", invalid},
		{"a method that opens a tunnel", action{Do: "ask", Op: "http/fetch", Params: map[string]any{"url": granted.URL + "/fine", "method": "CONNECT"}}, "", invalid},
		{"a server that never answers", asking(granted.URL + "/silent"), "timeout", ".*time limit of 5s"},
		{"git of a server that is not granted", action{Do: "ask", Op: "git/list_remote", Params: map[string]any{"url": "https://git.example.com/a/b"}}, "", denied},
		{"an operation that there is not", action{Do: "ask", Op: "process/run", Params: map[string]any{"command": "sh"}}, "", `.*\(unavailable\)`},
	}
	w.intrude(t, s, all)
	s.end()
	w.checkRecords(all)
	if n := reached.Load(); n > 0 {
		t.Errorf("a server that was not granted was asked %d times", n)
	}
	refused := 0
	for _, r := range w.records() {
		if r.Kind == "refused" && r.Plugin == "intruder" {
			refused++
			if len(r.Operations) != 1 || r.Operations[0].Outcome != "denied" {
				t.Errorf("the record of a refusal: %+v", r)
			}
		}
	}
	if refused < 8 {
		t.Errorf("the audit log has %d refusals", refused)
	}
}

// TestRepositoryRunsNoProgram, whatever its files and the names it is asked for say.
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
	w.addIntruder("http = []\ngit = [{ repo = \"${project}\", access = \"rw\", remotes = [\"https://git.example.com/a\"] }]\n")
	s := w.serve()
	asking := func(op, repo string, prefixFC ...string) action {
		params := map[string]any{"repo": repo}
		for i := 0; i < len(prefixFC); i += 2 {
			params[prefixFC[i]] = prefixFC[i+1]
		}
		return action{Do: "ask", Op: "git/" + op, Params: params}
	}
	remote := func(url string) action {
		return action{Do: "ask", Op: "git/list_remote", Params: map[string]any{"url": url}}
	}
	const denied, invalid = `.*\(denied\)`, `.*\(invalid\)`
	all := []intrusion{
		{"the project's own", asking("current_branch", w.project), "", `.*"branch":"main".*`},
		{"its status", asking("status", w.project), "", `.*"found":true.*`},
		{"one outside", asking("current_branch", w.path("outside")), "", denied},
		{"one outside by dots", asking("current_branch", w.project+"/../outside"), "", denied},
		{"a planted .git file", asking("current_branch", w.path("work/planted")), "", denied},
		{"one that is absolute", asking("current_branch", w.path("work/absolute")), "", denied},
		{"a planted link", asking("current_branch", w.path("work/linked")), "", denied},
		{"a reference that looks like a flag", asking("resolve_ref", w.project, "ref", "--upload-pack=touch "+pwned), "", invalid},
		{"a reference that is an expression", asking("resolve_ref", w.project, "ref", "HEAD^{/x}"), "", invalid},
		{"a branch that looks like a flag", asking("branch_exists", w.project, "branch", "--exec=sh"), "", invalid},
		{"a branch that is a path", asking("branch_exists", w.project, "branch", "../../config"), "", invalid},
		{"a file's path that is one out", asking("read_file", w.project, "branch", "main", "path", "../outside/.git/description"), "", invalid},
		{"a remote that looks like a flag", asking("remote_url", w.project, "remote", "--upload-pack=sh"), "", invalid},
		{"a new branch that looks like a flag", action{Do: "ask", Op: "git/commit_branch", Params: map[string]any{"repo": w.project, "branch": "--force", "message": "m", "changes": []any{map[string]any{"path": "a", "content": "eA=="}}}}, "", invalid},
		{"a commit into .git", action{Do: "ask", Op: "git/commit_branch", Params: map[string]any{"repo": w.project, "branch": "new", "message": "m", "changes": []any{map[string]any{"path": "sub/.git/hooks/post-checkout", "content": "eA=="}}}}, "", invalid},
		{"a remote that runs a program", remote("ext::sh -c touch% " + pwned), "", invalid},
		{"a remote that is a folder", remote("file://" + w.path("outside")), "", invalid},
		{"a remote by ssh", remote("ssh://-oProxyCommand=touch/x"), "", invalid},
		{"a remote that looks like a flag", remote("--upload-pack=sh"), "", invalid},
		{"a remote below a granted one's sibling", remote("https://git.example.com/ab"), "", denied},
	}
	w.intrude(t, s, all)
	s.end()
	check()
	w.checkRecords(all)
	if _, err := os.Lstat(pwned); err == nil {
		t.Error("a program was run")
	}
}
